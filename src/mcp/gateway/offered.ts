import type { Bag, Catalogue, Source, Viewer } from "../../core/contract/index.ts";
import { offersTasks, TASKS } from "./modern/tasks.ts";
import type { Settings } from "./settings.ts";
import { has, type Revision } from "./revision.ts";

/** Of which kinds there is something. */
export interface Offered {
  readonly tools: boolean;
  readonly resources: boolean;
  readonly prompts: boolean;
  /** Tools whose call may become a task. */
  readonly tasks: boolean;
}

/** Of all that a profile says without a look. */
export const EVERYTHING: Offered = { tools: true, resources: true, prompts: true, tasks: false };
const WITH_TASKS: Offered = { ...EVERYTHING, tasks: true };

/** What that viewer could be offered, looked for only where the profile says it to clients. */
export function offeredTo({ profile }: Settings, source: Source, viewer: Viewer): Offered | Promise<Offered> {
  const known = source.catalogue?.(viewer);
  if (profile.capabilities === "all") return known !== undefined && offersTasks(known) ? WITH_TASKS : EVERYTHING;
  if (known !== undefined) return kindsIn(known);
  const surface = source.surface(viewer);
  return surface instanceof Promise ? surface.then(({ catalogue }) => kindsIn(catalogue)) : kindsIn(surface.catalogue);
}

function kindsIn(catalogue: Catalogue): Offered {
  const { tools, resources, prompts } = catalogue;
  return { tools: tools.length > 0, resources: resources.length > 0, prompts: prompts.length > 0, tasks: offersTasks(catalogue) };
}

/** What 2025-11-25's tasks can do here: every request about them, and only calls of tools become tasks. */
const LEGACY_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** What the server says it offers in that revision. */
export function capabilitiesOf({ profile, extensions, tasks }: Settings, revision: Revision, offered: Offered): Bag {
  const all = tasks && offered.tasks ? { [TASKS]: {}, ...extensions } : extensions;
  const legacyTasks = tasks && offered.tasks && has(revision, "tasks") ? { tasks: LEGACY_TASKS } : undefined;
  const more = has(revision, "envelopes") && Object.keys(all).length > 0 ? { extensions: all } : undefined;
  if (profile.capabilities === "all")
    return {
      // Lists may change and be empty, so none is left out.
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
      ...(has(revision, "completionsCapability") ? { completions: {} } : undefined),
      ...legacyTasks,
      ...more,
    };
  return {
    ...(offered.tools || profile.capabilities === "tools" ? { tools: {} } : undefined),
    ...(offered.resources ? { resources: {} } : undefined),
    ...(offered.prompts ? { prompts: {} } : undefined),
    ...legacyTasks,
    ...more,
  };
}
