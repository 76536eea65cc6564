import type { Clock, Log } from "../../../core/contract/index.ts";
import type { TheaterStage } from "../theater-stage.ts";
import type { Channels } from "./channels.ts";
import type { TheaterLimits } from "./options.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Shared by all connections of one server. */
export interface House {
  readonly stage: TheaterStage;
  readonly limits: TheaterLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly channels: Channels;
  readonly subscriptions: Subscriptions;
}
