import { usage } from "../command-error.ts";
import { output, table } from "../output.ts";
import type { EngineAddress } from "./cluster-options.ts";
import { deploymentsInUse, register, removeDeployment } from "./deployments.ts";
import { RestateAdmin } from "./restate-admin.ts";

export interface ClusterCommand {
  readonly engine: EngineAddress;
  readonly json?: boolean;
}

/** An address of nodes as Restate shall call it. Throws `USAGE`. */
export const endpointUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw usage(
      `The address of the nodes is an http URL as the Restate server reaches it, such as http://nodes.internal:9080, not "${text}".`,
    );
  if (url.username !== "" || url.password !== "")
    throw usage("The address of the nodes takes no credentials: Restate lists it to everybody.");
  return url.href;
};

export const registerNodes = async (url: string, options: ClusterCommand & { readonly force?: boolean }): Promise<void> => {
  const force = options.force === true;
  const found = await register(new RestateAdmin(options.engine.admin), endpointUrl(url), force);
  output(options).show(found, () => {
    const services = found.services.length === 0 ? "no kinds" : found.services.join(", ");
    if (found.added) return `Registered as ${found.id}: ${services}.`;
    return force
      ? `Asked again, and kept as ${found.id}: ${services}.`
      : `Known already as ${found.id}: ${services}. Nothing was asked again; new code belongs at an address of its own.`;
  });
};

export const listDeployments = async (options: ClusterCommand): Promise<void> => {
  const found = await deploymentsInUse(new RestateAdmin(options.engine.admin));
  const out = output(options);
  for (const one of found) out.value(one);
  out.text(() =>
    found.length === 0
      ? 'No deployments: register the nodes with "troupe cluster register <url>".'
      : table(
          ["id", "url", "created", "pinned", "new calls of", "services"],
          found.map(({ id, url, created, pinned, newest, services }) => [
            id,
            url,
            created.replace(/\.\d+Z$/, "Z"),
            String(pinned),
            newest.length === services.length ? "all" : newest.length === 0 ? "none" : newest.join(" "),
            services.join(" "),
          ]),
        ),
  );
};

export const removeNodes = async (id: string, options: ClusterCommand & { readonly force?: boolean }): Promise<void> => {
  await removeDeployment(new RestateAdmin(options.engine.admin), id, options.force === true);
  output(options).show({ ok: true }, () => "Done.");
};
