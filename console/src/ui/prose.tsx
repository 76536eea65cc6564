// Owns: sentences of the server, in which code stands between backticks.

/** What stands between two backticks is code; a backtick without another is left as it is. */
export const Prose = ({ text }: { readonly text: string }) => (
  <>
    {text
      .split(/`([^`\n]+)`/)
      // oxlint-disable-next-line react/no-array-index-key -- the parts of one text keep their order
      .map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
  </>
);
