// main.tsx - the entry of the page.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./pages/App";
import { apply } from "./ui/theme";
import "./ui/tokens.css";
import "./ui/base.css";

apply();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
