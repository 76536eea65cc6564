import type { Bag, Catalogue, Source, Viewer } from "../contract/index.ts";
import type { Settings } from "./settings.ts";
import { has, type Revision } from "./revision.ts";

/** Of which kinds there is something. */
export interface Offered {
  readonly tools: boolean;
  readonly resources: boolean;
  readonly prompts: boolean;
}

export const EVERYTHING: Offered = { tools: true, resources: true, prompts: true };

/** What that viewer could be offered, looked for only where the profile says it to clients. */
export function offeredTo({ profile }: Settings, source: Source, viewer: Viewer): Offered | Promise<Offered> {
  if (profile.capabilities === "all") return EVERYTHING;
  const known = source.catalogue?.(viewer);
  if (known !== undefined) return kindsIn(known);
  const surface = source.surface(viewer);
  return surface instanceof Promise ? surface.then(({ catalogue }) => kindsIn(catalogue)) : kindsIn(surface.catalogue);
}

function kindsIn({ tools, resources, prompts }: Catalogue): Offered {
  return { tools: tools.length > 0, resources: resources.length > 0, prompts: prompts.length > 0 };
}

/** What the server says it offers in that revision. */
export function capabilitiesOf({ profile, extensions }: Settings, revision: Revision, offered: Offered): Bag {
  const more = has(revision, "envelopes") && Object.keys(extensions).length > 0 ? { extensions } : undefined;
  if (profile.capabilities === "all")
    return {
      // Lists may change and be empty, so none is left out.
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
      ...(has(revision, "completionsCapability") ? { completions: {} } : undefined),
      ...more,
    };
  return {
    ...(offered.tools || profile.capabilities === "tools" ? { tools: {} } : undefined),
    ...(offered.resources ? { resources: {} } : undefined),
    ...(offered.prompts ? { prompts: {} } : undefined),
    ...more,
  };
}
