import type { Clock, Log } from "../../../core/contract/index.ts";
import type { TheaterStage } from "../theater-stage.ts";
import type { ClientChannels } from "./channels.ts";
import type { TheaterLimits } from "./options.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Shared by all connections of one server. */
export interface ServerContext {
  readonly stage: TheaterStage;
  readonly limits: TheaterLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly channels: ClientChannels;
  readonly subscriptions: Subscriptions;
}
