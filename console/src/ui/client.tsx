// Owns: what the page says of clients wherever it lists them.

/** The name of the page's own client, `troupe-playground`. */
const PLAYGROUND = "troupe-playground";

export const ConsoleBadge = ({ client = "" }: { readonly client?: string | undefined }) =>
  client === PLAYGROUND || client.startsWith(`${PLAYGROUND} `) ? (
    <span class="badge" title="The playground of this console">
      playground
    </span>
  ) : null;

export const WAITING =
  "A client is slow if its own calls run long. Waited: how long they waited until their actor was done with the calls of others.";

export const RequestCount = ({ requests, errors }: { readonly requests: number; readonly errors: number }) => (
  <>
    {requests.toLocaleString()}
    {errors === 0 ? null : <span class="bad-text"> {errors === 1 ? "1 error" : `${errors.toLocaleString()} errors`}</span>}
  </>
);
