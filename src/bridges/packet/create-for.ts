import type { Create } from "../../core/actor/index.ts";

/** A handler's `create`. The actor belongs to whom the handler's own actor belongs to, unless the options say otherwise. */
export function createFor(create: Create, owner: () => string | undefined): Create {
  return (actor, args, options) => {
    const principal = options?.viewer === undefined ? owner() : undefined;
    return create(actor, args, principal === undefined ? options : { ...options, viewer: { principal, scopes: [] } });
  };
}
