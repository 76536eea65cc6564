// Owns: the button that says how many events came since a list was loaded. Does not own: loading them.

/** Announced, not put into the list: nothing moves while it is read. */
export const NewEvents = ({ count, load }: { readonly count: number; readonly load: () => void }) => (
  <span role="status">
    {count > 0 ? (
      <button type="button" class="new" onClick={load}>
        {count.toLocaleString()} new
      </button>
    ) : null}
  </span>
);
