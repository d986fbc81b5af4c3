// SourceText.tsx - lines of a kept file around a marked line, which is scrolled to the middle.
import { useLayoutEffect, useRef } from "react";
import { excerpt } from "./source";

interface SourceTextProps {
  label: string;
  text: string;
  line: number;
  around?: number; // lines before the marked one, and after it
}

export function SourceText({ label, text, line, around }: SourceTextProps) {
  const box = useRef<HTMLPreElement>(null);
  const rows = excerpt(text, line, around);
  useLayoutEffect(() => {
    const whole = box.current?.getBoundingClientRect();
    const here = box.current?.querySelector(".source-here")?.getBoundingClientRect();
    if (whole && here) box.current!.scrollTop += here.top - whole.top - (whole.height - here.height) / 2;
  }, [text, line]);
  if (rows.length === 0) return null;
  return (
    <pre ref={box} className="source" tabIndex={0} role="region" aria-label={label}>
      {rows.map((row) => (
        <span key={row.number} className={row.number === line ? "source-row source-here" : "source-row"} aria-current={row.number === line || undefined}>
          <span className="source-number">{row.number}</span>
          {row.text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
