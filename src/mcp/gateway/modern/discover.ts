import type { Source, Viewer } from "../../../core/contract/index.ts";
import { capabilitiesOf, type Offered, offeredTo } from "../offered.ts";
import type { Settings } from "../settings.ts";
import { LATEST_MODERN } from "../revision.ts";

/** The members of the discover result. */
export function discoverMembers(settings: Settings, source: Source, viewer: Viewer): string | Promise<string> {
  const { profile } = settings;
  const instructions = settings.instructions();
  const told = (offered: Offered): string =>
    JSON.stringify({
      supportedVersions: profile.supported,
      capabilities: capabilitiesOf(settings, LATEST_MODERN, offered),
      ...(instructions === undefined ? undefined : { instructions }),
    }).slice(1, -1);
  const offered = offeredTo(settings, source, viewer);
  return offered instanceof Promise ? offered.then(told) : told(offered);
}
