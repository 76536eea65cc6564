import { once } from "node:events";
import { connect } from "node:http2";
import type { HostPort } from "../address.ts";
import type { HealthCheck } from "./balancer.ts";

const urlOf = ({ host, port }: HostPort): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

/** Any answer will do: a node that drains, or has lost its engine, still ends what it has begun. */
export const listenerAnswers: HealthCheck = async (target, signal) => {
  try {
    const response = await fetch(`${urlOf(target)}/healthz`, { signal });
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
};

/** The same of a node's own port, which speaks HTTP/2 in clear. */
export const nodeAnswers: HealthCheck = async (target, signal) => {
  const session = connect(urlOf(target));
  // Told by the request, too.
  session.on("error", () => undefined);
  try {
    const request = session.request({ ":path": "/health" });
    request.on("error", () => undefined);
    await once(request, "response", { signal });
    return true;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
};
