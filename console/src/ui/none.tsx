// Owns: what a cell says that has nothing. Does not own: lists that have nothing (states.tsx).

export const None = ({ why }: { readonly why?: string }) => (
  <span class="none dim" title={why}>
    –
  </span>
);
