import type { ListName, Log, Source } from "../../../core/contract/index.ts";
import type { Posture } from "../../source/index.ts";
import type { AudienceHost } from "../audience.ts";
import { notificationText } from "../json-rpc.ts";
import type { Settings } from "../settings.ts";

export const ALL_LISTS = ["tools", "resources", "prompts"] as const;

// One text for all: what is made for each of very many who listen is made very often.
const CHANGED: Readonly<Record<ListName, string>> = {
  tools: notificationText("notifications/tools/list_changed"),
  resources: notificationText("notifications/resources/list_changed"),
  prompts: notificationText("notifications/prompts/list_changed"),
};

/** In what words the sessions of one source are told. One for all of them: of very many, each session that is looked at is a wait for the memory. */
export class SessionNotices implements AudienceHost {
  readonly source: Source;
  readonly posture: Posture;
  readonly wanted = ALL_LISTS;
  readonly log: Log;

  constructor(source: Source, { legacyPosture, log }: Settings) {
    this.source = source;
    this.posture = legacyPosture;
    this.log = log;
  }

  listChanged(list: ListName): string {
    return CHANGED[list];
  }

  updated(uri: string): string {
    return notificationText("notifications/resources/updated", { uri });
  }
}
