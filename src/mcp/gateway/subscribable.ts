import type { Source, Surface, Viewer } from "../../core/contract/index.ts";
import { hasOwn, missingScopes } from "../../core/contract/internal.ts";
import { indexOf, type Target } from "./offers.ts";

/**
 * What a URI to be subscribed to stands for. Undefined: nothing this viewer can read, whether it never was, is off
 * without a reason (law 3), needs a scope that its token lacks, or is somebody else's behind a template (C8).
 */
export async function subscribable(source: Source, viewer: Viewer, surface: Surface, uri: string): Promise<Target | undefined> {
  const target = indexOf(surface.catalogue).resource(uri);
  if (target === undefined || surface.off[target.ref] === true || missingScopes(target.scopes, viewer.scopes).length > 0) return undefined;
  // The surface knows templates; only a read tells whether these variables name something.
  if (Object.keys(target.args).length === 0) return target;
  const reply = await source.act(viewer, target.ref, target.args, {});
  return hasOwn(reply, "refused") && (reply.refused.code === "UNKNOWN" || reply.refused.code === "SCOPE") ? undefined : target;
}
