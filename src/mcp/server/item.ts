import type { Bag, Viewer } from "../../core/contract/index.ts";
import { withScopes, omitUndefined } from "../../core/contract/internal.ts";
import type { Complete } from "../source/index.ts";

/** The same for tools, resources and prompts. */
export interface Item {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** As MCP writes them: `{ src, mimeType?, sizes? }`. */
  readonly icons?: readonly Bag[];
  /** `_meta` of the list entry. */
  readonly meta?: Bag;
  /** What a caller's token must allow; one that does not is told so, with a challenge. */
  readonly scopes?: readonly string[];
  /** True: on; text: off, and why; false, or where it throws: off. Asked for each list and call; tell `server.relist()` when it changes. */
  enabled?(viewer: Viewer): boolean | string;
}

interface Described {
  readonly describe?: string;
  readonly title?: string;
  readonly icons?: readonly Bag[];
  readonly meta?: Bag;
  readonly when?: (viewer: Viewer) => boolean | string;
}

/** As the registry has it. */
export function describedBy(item: Item): Described {
  const { title, description, icons, scopes } = item;
  const meta = withScopes(item.meta, scopes);
  return {
    ...omitUndefined({ title, describe: description, icons, meta }),
    ...(item.enabled === undefined ? {} : { when: (viewer: Viewer) => item.enabled === undefined || item.enabled(viewer) }),
  };
}

interface Completing {
  readonly complete?: Readonly<Record<string, Complete>>;
}

export function completing(given: Readonly<Record<string, Complete | undefined>> | undefined): Completing {
  const complete: Record<string, Complete> = {};
  for (const [name, one] of Object.entries(given ?? {})) if (one !== undefined) complete[name] = one;
  return given === undefined ? {} : { complete };
}
