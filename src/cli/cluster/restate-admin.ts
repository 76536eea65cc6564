// Owns: a Restate server's admin API, and the deployments that are registered there. Does not own: the commands (commands/cluster.ts).
import { type Clock, isJsonObject, type Json, type JsonObject, systemClock } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { CommandError, EXIT, notFound } from "../command-error.ts";
import { textOrElse } from "../output.ts";

/** Long, since Restate queries the endpoint meanwhile, with retries. */
const WITHIN_MS = 30_000;
const MAX_ANSWER_BYTES = 16 * 1_048_576;

/** One answer of the admin API. */
interface AdminAnswer {
  readonly status: number;
  /** Undefined if there was none or it is not JSON. */
  readonly body: Json | undefined;
  readonly text: string;
}

/** The admin API of a Restate server. Throws `RESTATE_AWAY` if nothing answers. */
export class RestateAdmin {
  readonly url: string;
  readonly #clock: Clock;

  constructor(url: string, clock: Clock = systemClock) {
    this.url = url;
    this.#clock = clock;
  }

  /** `onTimeout` makes the error for a response that takes longer than 30 seconds. */
  async request(method: "GET" | "POST" | "DELETE", path: string, body?: Json, onTimeout?: (waited: string) => Error): Promise<AdminAnswer> {
    const timeout = new AbortController();
    const undo = this.#clock.after(WITHIN_MS, () => timeout.abort());
    try {
      const response = await fetch(`${this.url}${path}`, {
        method,
        signal: timeout.signal,
        redirect: "error",
        headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await boundedText(response, MAX_ANSWER_BYTES);
      return { status: response.status, body: tryParseJson(text), text };
    } catch (error) {
      const waited = `did not answer within ${WITHIN_MS / 1_000} seconds`;
      if (timeout.signal.aborted && onTimeout !== undefined) throw onTimeout(waited);
      throw new CommandError(
        EXIT.unavailable,
        "RESTATE_AWAY",
        `The Restate server's admin API at ${this.url} ${timeout.signal.aborted ? waited : `cannot be reached: ${causeOf(error)}`}. Start the server, or name where it is with --engine restate://host:port?admin=http://host:port.`,
      );
    } finally {
      undo();
    }
  }

  /** Throws unless the response is a success. */
  async get(path: string): Promise<JsonObject> {
    return success(await this.request("GET", path));
  }

  /** Rows of an SQL query over the server's own tables. */
  async query(sql: string): Promise<readonly JsonObject[]> {
    const { rows } = success(await this.request("POST", "/query", { query: sql }));
    return jsonObjects(rows);
  }
}

const jsonObjects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Restate's own message about a failure. */
const failureText = ({ status, body, text }: AdminAnswer): string =>
  (isJsonObject(body) ? textOrElse(body["message"], text) : text).trim() || `nothing but the status ${status}`;

const unexpected = (answer: AdminAnswer): CommandError =>
  new CommandError(
    EXIT.failed,
    "RESTATE_REFUSED",
    `The Restate server refused with ${answer.status}, and said: ${failureText(answer)}. If that is no Restate server, name its admin API with ?admin=http://host:port.`,
  );

const success = (answer: AdminAnswer): JsonObject => {
  if (answer.status < 200 || answer.status > 299 || !isJsonObject(answer.body)) throw unexpected(answer);
  return answer.body;
};

const causeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ("code" in cause ? String(cause.code) : cause.name);
};

/** A response's text. Throws beyond `maxBytes`. */
const boundedText = async (response: Response, maxBytes: number): Promise<string> => {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
};

/** One version of the code, at one address. */
interface Deployment {
  readonly id: string;
  readonly url: string;
  readonly services: readonly string[];
  /** ISO 8601. */
  readonly created: string;
}

/** A deployment, and what still depends on it. */
interface DeploymentUse extends Deployment {
  /** Running invocations that began on it, and can only continue there. */
  readonly pinned: number;
  /** Services whose new calls it gets. */
  readonly newest: readonly string[];
}

interface Registered {
  readonly id: string;
  readonly services: readonly string[];
  /** False if it was known before; Restate then queries the endpoint again only with `force`. */
  readonly added: boolean;
}

/** Registers the endpoint at `url`. */
export const registerDeployment = async (admin: RestateAdmin, url: string, force: boolean): Promise<Registered> => {
  const answer = await admin.request(
    "POST",
    "/deployments",
    { uri: url, force },
    (waited) =>
      new CommandError(
        EXIT.failed,
        "ENDPOINT_AWAY",
        `The Restate server at ${admin.url} ${waited}: most likely it waits for ${url}, where something takes connections and says nothing. Look whether a node listens there.`,
      ),
  );
  const { status, body } = answer;
  if ((status !== 200 && status !== 201) || !isJsonObject(body)) throw registrationFailed(url, answer);
  return { id: textOrElse(body["id"], ""), services: names(body["services"]), added: status === 201 };
};

export const deploymentsInUse = async (admin: RestateAdmin): Promise<readonly DeploymentUse[]> => {
  const [{ deployments }, { services }, counts] = await Promise.all([
    admin.get("/deployments"),
    admin.get("/services"),
    // An invocation that runs for the first time is bound to a deployment before it is pinned.
    admin.query(
      "SELECT COALESCE(pinned_deployment_id, last_attempt_deployment_id) AS deployment, COUNT(*) AS pinned FROM sys_invocation WHERE status <> 'completed' GROUP BY COALESCE(pinned_deployment_id, last_attempt_deployment_id)",
    ),
  ]);
  const pinned = new Map(counts.map((row) => [row["deployment"], Number(row["pinned"])]));
  return jsonObjects(deployments).map((one) => {
    const id = textOrElse(one["id"], "");
    return {
      id,
      url: textOrElse(one["uri"], textOrElse(one["arn"], "")),
      services: names(one["services"]),
      created: textOrElse(one["created_at"], ""),
      pinned: pinned.get(id) ?? 0,
      newest: names(jsonObjects(services).filter((service) => service["deployment_id"] === id)),
    };
  });
};

/** Throws `DEPLOYMENT_IN_USE` if invocations are bound to it or new calls go to it, unless `force`. */
export const removeDeployment = async (admin: RestateAdmin, id: string, force: boolean): Promise<void> => {
  const one = (await deploymentsInUse(admin)).find((deployment) => deployment.id === id);
  if (one === undefined) throw notFound(`There is no deployment ${id}; "troupe cluster deployments" lists them.`);
  if (!force && one.pinned > 0)
    throw new CommandError(
      EXIT.refused,
      "DEPLOYMENT_IN_USE",
      `${one.pinned === 1 ? "One invocation is" : `${one.pinned} invocations are`} still bound to ${id} and would never end: wait until "troupe cluster deployments" shows none, or give them up with --force.`,
    );
  if (!force && one.newest.length > 0)
    throw new CommandError(
      EXIT.refused,
      "DEPLOYMENT_IN_USE",
      `New calls of ${one.newest.join(", ")} go to ${id}: register the deployment that takes its place first, or have them fail with --force.`,
    );
  const answer = await admin.request("DELETE", `/deployments/${encodeURIComponent(id)}?force=true`);
  if (answer.status === 404) throw notFound(`There is no deployment ${id} any more.`);
  if (answer.status < 200 || answer.status > 299) throw unexpected(answer);
};

const names = (services: unknown): readonly string[] => jsonObjects(services).map((service) => textOrElse(service["name"], ""));

const registrationFailed = (url: string, answer: AdminAnswer): CommandError => {
  const failure = failureText(answer);
  if (/META0013|META0014|got status code/.test(failure))
    return new CommandError(
      EXIT.failed,
      "NO_ENDPOINT",
      `What answers at ${url} is no endpoint of actors: name what the nodes say under --advertise, not their MCP address. Restate said: ${failure}`,
    );
  if (/META0003/.test(failure))
    return new CommandError(
      EXIT.failed,
      "ENDPOINT_AWAY",
      `The Restate server cannot reach ${url}: the address must lead from its machine to the nodes, and a node must run. Restate said: ${failure}`,
    );
  return unexpected(answer);
};
