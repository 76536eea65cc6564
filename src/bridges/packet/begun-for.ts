import type { Send, SendOptions } from "../../core/actor/index.ts";
import type { ActorId, Outgoing, Viewer } from "../../core/contract/index.ts";

/** A handler's messages. An actor that begins with one belongs to whom the sender's own actor belongs to, unless the message says otherwise. */
export function begunFor<R>(send: Send<R>, owner: () => string | undefined): Send<R> {
  const owned = (): { readonly viewer?: Viewer } => {
    const principal = owner();
    return principal === undefined ? {} : { viewer: { principal, scopes: [] } };
  };
  return (to: ActorId | Outgoing, given?: string | SendOptions, args?: unknown, options?: SendOptions): R => {
    if (typeof to === "object") {
      const message = { ...to, ...(typeof given === "object" && given) };
      return send(begins(message) ? { ...message, ...owned() } : message);
    }
    if (typeof given !== "string") throw new TypeError("send(to, action, args): `action` is the name of a message.");
    return send(to, given, args, options !== undefined && begins(options) ? { ...options, ...owned() } : options);
  };
}

const begins = ({ start, viewer }: SendOptions): boolean => start !== undefined && viewer === undefined;
