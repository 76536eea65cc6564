import type { Bag } from "../../contract/index.ts";
import type { Core } from "../core.ts";
import { shapeInfo } from "../server-info.ts";
import { LATEST_MODERN } from "../revision.ts";
import { SERVER_META } from "./envelope.ts";

const serverMetas = new WeakMap<Core, Bag>();

/** The `_meta` of every result. */
export function serverMeta(core: Core): Bag {
  let meta = serverMetas.get(core);
  if (meta === undefined) {
    meta = { [SERVER_META]: shapeInfo(core.settings.info, LATEST_MODERN) };
    serverMetas.set(core, meta);
  }
  return meta;
}
