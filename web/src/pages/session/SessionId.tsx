// SessionId.tsx - the beginning of a session's id next to its name, which other sessions share.
export const SessionId = ({ id }: { id: string }) => (
  <span className="session-id mono small quiet" title={id}>
    {id.slice(0, 8)}
  </span>
);
