import { type Clock, isJsonObject, type Json, type JsonObject, systemClock } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { CommandError, EXIT, notFound } from "../command-error.ts";
import { textOr } from "../output.ts";

/** Restate asks the endpoint in between, and tries again where nothing answers. */
const WITHIN_MS = 30_000;
const MAX_ANSWER_BYTES = 16 * 1_048_576;

/** One answer of the admin API. */
interface AdminAnswer {
  readonly status: number;
  /** Undefined where there was none, or it is no JSON. */
  readonly body: Json | undefined;
  readonly text: string;
}

/** The admin API of a Restate server. Throws `RESTATE_AWAY` where nothing answers there. */
export class RestateAdmin {
  readonly url: string;
  readonly #clock: Clock;

  constructor(url: string, clock: Clock = systemClock) {
    this.url = url;
    this.#clock = clock;
  }

  /** `onLate` makes what is thrown where the answer takes longer than half a minute. */
  async ask(method: "GET" | "POST" | "DELETE", path: string, body?: Json, onLate?: (waited: string) => Error): Promise<AdminAnswer> {
    const late = new AbortController();
    const undo = this.#clock.after(WITHIN_MS, () => late.abort());
    try {
      const response = await fetch(`${this.url}${path}`, {
        method,
        signal: late.signal,
        redirect: "error",
        headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await boundedText(response, MAX_ANSWER_BYTES);
      return { status: response.status, body: tryParseJson(text), text };
    } catch (error) {
      const waited = `did not answer within ${WITHIN_MS / 1_000} seconds`;
      if (late.signal.aborted && onLate !== undefined) throw onLate(waited);
      throw new CommandError(
        EXIT.unavailable,
        "RESTATE_AWAY",
        `The Restate server's admin API at ${this.url} ${late.signal.aborted ? waited : `cannot be reached: ${causeOf(error)}`}. Start the server, or name where it is with --engine restate://host:port?admin=http://host:port.`,
      );
    } finally {
      undo();
    }
  }

  /** Throws where the answer is no success. */
  async get(path: string): Promise<JsonObject> {
    return success(await this.ask("GET", path));
  }

  /** Rows of SQL over what the server holds. */
  async query(sql: string): Promise<readonly JsonObject[]> {
    const { rows } = success(await this.ask("POST", "/query", { query: sql }));
    return bags(rows);
  }
}

const bags = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** What Restate says of a failure, in full. */
const toldBy = ({ status, body, text }: AdminAnswer): string =>
  (isJsonObject(body) ? textOr(body["message"], text) : text).trim() || `nothing but the status ${status}`;

const unexpected = (answer: AdminAnswer): CommandError =>
  new CommandError(
    EXIT.failed,
    "RESTATE_REFUSED",
    `The Restate server refused with ${answer.status}, and said: ${toldBy(answer)}. If that is no Restate server, name its admin API with ?admin=http://host:port.`,
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

/** A deployment and what still needs it. */
interface DeploymentUse extends Deployment {
  /** Invocations that began on it and are not over: they go on there and nowhere else. */
  readonly pinned: number;
  /** Services whose new calls go to it. */
  readonly newest: readonly string[];
}

interface Registered {
  readonly id: string;
  readonly services: readonly string[];
  /** False: it was known before. Restate has then asked the endpoint again only if it was forced to. */
  readonly added: boolean;
}

/** Tells Restate of the endpoint at `url`. */
export const registerDeployment = async (admin: RestateAdmin, url: string, force: boolean): Promise<Registered> => {
  const answer = await admin.ask(
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
  return { id: textOr(body["id"], ""), services: names(body["services"]), added: status === 201 };
};

export const deploymentsInUse = async (admin: RestateAdmin): Promise<readonly DeploymentUse[]> => {
  const [{ deployments }, { services }, counts] = await Promise.all([
    admin.get("/deployments"),
    admin.get("/services"),
    // One that runs for the first time is bound to a deployment before anything of it is written down.
    admin.query(
      "SELECT COALESCE(pinned_deployment_id, last_attempt_deployment_id) AS deployment, COUNT(*) AS pinned FROM sys_invocation WHERE status <> 'completed' GROUP BY COALESCE(pinned_deployment_id, last_attempt_deployment_id)",
    ),
  ]);
  const pinned = new Map(counts.map((row) => [row["deployment"], Number(row["pinned"])]));
  return bags(deployments).map((one) => {
    const id = textOr(one["id"], "");
    return {
      id,
      url: textOr(one["uri"], textOr(one["arn"], "")),
      services: names(one["services"]),
      created: textOr(one["created_at"], ""),
      pinned: pinned.get(id) ?? 0,
      newest: names(bags(services).filter((service) => service["deployment_id"] === id)),
    };
  });
};

/** Throws `DEPLOYMENT_IN_USE` where invocations are bound to it or new calls go to it, unless `force`. */
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
  const answer = await admin.ask("DELETE", `/deployments/${encodeURIComponent(id)}?force=true`);
  if (answer.status === 404) throw notFound(`There is no deployment ${id} any more.`);
  if (answer.status < 200 || answer.status > 299) throw unexpected(answer);
};

const names = (services: unknown): readonly string[] => bags(services).map((service) => textOr(service["name"], ""));

const registrationFailed = (url: string, answer: AdminAnswer): CommandError => {
  const told = toldBy(answer);
  if (/META0013|META0014|got status code/.test(told))
    return new CommandError(
      EXIT.failed,
      "NO_ENDPOINT",
      `What answers at ${url} is no endpoint of actors: name what the nodes say under --advertise, not their MCP address. Restate said: ${told}`,
    );
  if (/META0003/.test(told))
    return new CommandError(
      EXIT.failed,
      "ENDPOINT_AWAY",
      `The Restate server cannot reach ${url}: the address must lead from its machine to the nodes, and a node must run. Restate said: ${told}`,
    );
  return unexpected(answer);
};
