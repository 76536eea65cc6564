// Owns: the list of the API's routes. Does not own: any of them.

import { aboutRoutes } from "./about-routes.ts";
import { actorRoutes } from "./actor-routes.ts";
import { appRoutes } from "./app-routes.ts";
import { callRoutes } from "./call-routes.ts";
import { causeRoutes } from "./cause-routes.ts";
import { chainRoutes } from "./chain-routes.ts";
import { guestRoutes } from "./guest-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { operationRoutes } from "./operation-routes.ts";
import { overviewRoutes } from "./overview-routes.ts";
import { packetRoutes } from "./packet-routes.ts";
import { queueRoutes } from "./queue-routes.ts";
import type { ConsoleRoute } from "./routes.ts";
import { sqlRoutes } from "./sql-routes.ts";
import { streamRoutes } from "./stream-routes.ts";
import { surfaceRoutes } from "./surface-routes.ts";
import { trafficRoutes } from "./traffic-routes.ts";
import { verifyRoutes } from "./verify-routes.ts";

export const ALL_ROUTES: readonly ConsoleRoute[] = [
  ...aboutRoutes,
  ...actorRoutes,
  ...appRoutes,
  ...callRoutes,
  ...causeRoutes,
  ...chainRoutes,
  ...guestRoutes,
  ...logRoutes,
  ...operationRoutes,
  ...overviewRoutes,
  ...packetRoutes,
  ...queueRoutes,
  ...sqlRoutes,
  ...streamRoutes,
  ...surfaceRoutes,
  ...trafficRoutes,
  ...verifyRoutes,
];
