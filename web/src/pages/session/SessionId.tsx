// SessionId.tsx - the beginning of the id of a session or a run next to its name, which others share.
export const SessionId = ({ id }: { id: string }) => (
  <span className="session-id mono small quiet" title={id}>
    {id.slice(0, 8)}
  </span>
);
