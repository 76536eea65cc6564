// Owns: what the page says of clients wherever it lists them.

/** The name of the page's own client, `troupe-playground`. */
const PLAYGROUND = "troupe-playground";

export const ConsoleBadge = ({ client = "" }: { readonly client?: string | undefined }) =>
  client === PLAYGROUND || client.startsWith(`${PLAYGROUND} `) ? (
    <span class="badge" title="The playground of this console">
      playground
    </span>
  ) : null;

/** A recorder sees requests and responses. Whether an actor was busy meanwhile, it does not. */
export const WAITING =
  "Times include waiting: a client whose actor is busy with another client's slow call looks slow, too. Compare the requests of both in Traffic.";

export const RequestCount = ({ requests, errors }: { readonly requests: number; readonly errors: number }) => (
  <>
    {requests.toLocaleString()}
    {errors === 0 ? null : <span class="bad-text"> {errors === 1 ? "1 error" : `${errors.toLocaleString()} errors`}</span>}
  </>
);
