import type { Bag, Json } from "../../core/contract/index.ts";
import type { ServerInfo } from "./options.ts";
import { has, type Revision } from "./revision.ts";

/** How the server names itself, as that revision knows it. */
export function shapeInfo(info: ServerInfo, revision: Revision): Bag {
  const shaped: Record<string, Json> = { name: info.name, version: info.version };
  if (info.title !== undefined && has(revision, "titles")) shaped["title"] = info.title;
  if (has(revision, "icons")) {
    if (info.description !== undefined) shaped["description"] = info.description;
    if (info.websiteUrl !== undefined) shaped["websiteUrl"] = info.websiteUrl;
    if (info.icons !== undefined) shaped["icons"] = info.icons;
  }
  return shaped;
}
