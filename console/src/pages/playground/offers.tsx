// Owns: the list of what the server offers now, and of saved calls. Does not own: loading it (connection.ts, saved.ts).
import { Link } from "wouter-preact";
import { useEffect, useRef } from "preact/hooks";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { download } from "../../download.ts";
import { objectIn, textIn } from "../../json.ts";
import { useParameter } from "../../page-state.ts";
import { FileButton } from "../../ui/file-button.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toast } from "../../ui/toasts.tsx";
import { listChanges, lists, status } from "./connection.ts";
import { callPath, exported, forget, importCalls, saved, type SavedCall } from "./saved.ts";
import { counted } from "../../ui/time.tsx";

interface Item {
  readonly key: string;
  readonly path: string;
  readonly title: string;
  readonly what: string;
  readonly here: boolean;
  readonly mark?: string;
}

export function Offers({ chosen }: { readonly chosen: { readonly tool: string; readonly prompt: string; readonly resource: string } }) {
  const [tab, setTab] = useParameter("list", chosen.prompt !== "" ? "prompts" : chosen.resource !== "" ? "resources" : "tools");
  const [find, setFind] = useParameter("find");
  const { tools, resources, templates, prompts } = lists.value;
  const changed = listChanges.value[tab === "tools" ? "tools" : tab === "prompts" ? "prompts" : "resources"];
  const all =
    tab === "saved"
      ? []
      : tab === "tools"
        ? toolItems(tools, chosen.tool)
        : tab === "prompts"
          ? promptItems(prompts, chosen.prompt)
          : resourceItems(resources, templates, chosen.resource);
  const wanted = find.toLowerCase();
  const found = all?.filter(({ title, what, key }) => `${title} ${what} ${key}`.toLowerCase().includes(wanted));
  return (
    <section class="offers" aria-label="Offers">
      <Tabs
        label="What the server offers"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "tools", label: "Tools", count: tools?.length },
          { id: "resources", label: "Resources", count: resources === undefined ? undefined : resources.length + (templates?.length ?? 0) },
          { id: "prompts", label: "Prompts", count: prompts?.length },
          { id: "saved", label: "Saved", count: saved.value.length },
        ]}
      >
        {tab === "saved" ? (
          <Saved />
        ) : (
          <>
            <input
              type="search"
              aria-label={`Search ${tab}`}
              placeholder={`Search ${tab}`}
              value={find}
              onInput={(event) => setFind(event.currentTarget.value)}
            />
            <div class="offers-list" key={tab}>
              {changed === undefined ? null : (
                <p key={changed} class="flash dim small" role="status">
                  The list changed.
                </p>
              )}
              {found === undefined ? (
                <p class="dim small">{status.value === "open" || status.value === "connecting" ? "Loading …" : "Not connected."}</p>
              ) : found.length === 0 ? (
                <p class="dim small">{wanted === "" ? `This server offers no ${tab} now.` : "Nothing matches."}</p>
              ) : (
                <ItemList items={found} />
              )}
            </div>
          </>
        )}
      </Tabs>
    </section>
  );
}

function ItemList({ items }: { readonly items: readonly Item[] }) {
  const list = useRef<HTMLUListElement>(null);
  // A deep link may lead to an offer far down.
  useEffect(() => list.current?.querySelector(".here")?.scrollIntoView({ block: "nearest" }), []);
  return (
    <ul ref={list}>
      {items.map(({ key, path, title, what, here, mark }) => (
        <li key={key}>
          <Link href={path} class={here ? "here" : ""} aria-current={here ? "true" : undefined}>
            <span class="mono">{title}</span>
            {mark === undefined ? null : <span class="badge dim">{mark}</span>}
            <small class="dim">{what}</small>
          </Link>
        </li>
      ))}
    </ul>
  );
}

const toolItems = (tools: readonly JsonObject[] | undefined, chosen: string): readonly Item[] | undefined =>
  tools?.map((tool) => {
    const name = textIn(tool, "name") ?? "";
    const { readOnlyHint, destructiveHint } = objectIn(tool, "annotations");
    const mark = readOnlyHint === true ? "reads" : destructiveHint === true ? "destructive" : undefined;
    return {
      key: name,
      path: callPath({ kind: "tool", name }),
      title: name,
      what: whatOf(tool),
      here: name === chosen,
      ...(mark === undefined ? {} : { mark }),
    };
  });

const promptItems = (prompts: readonly JsonObject[] | undefined, chosen: string): readonly Item[] | undefined =>
  prompts?.map((prompt) => {
    const name = textIn(prompt, "name") ?? "";
    return { key: name, path: callPath({ kind: "prompt", name }), title: name, what: whatOf(prompt), here: name === chosen };
  });

const resourceItems = (
  resources: readonly JsonObject[] | undefined,
  templates: readonly JsonObject[] | undefined,
  chosen: string,
): readonly Item[] | undefined =>
  resources === undefined || templates === undefined
    ? undefined
    : [
        ...resources.map((one) => [one, textIn(one, "uri") ?? "", undefined] as const),
        ...templates.map((one) => [one, textIn(one, "uriTemplate") ?? "", "template"] as const),
      ].map(([one, uri, mark]) => ({
        key: uri,
        path: callPath({ kind: "resource", name: uri }),
        title: uri,
        what: whatOf(one) || (textIn(one, "name") ?? ""),
        here: uri === chosen,
        ...(mark === undefined ? {} : { mark }),
      }));

const whatOf = (offer: JsonObject): string => textIn(offer, "title") ?? textIn(offer, "description") ?? "";

function Saved() {
  const load = async (file: File): Promise<void> => {
    const count = importCalls(await file.text());
    toast(
      count === undefined ? "That file has no saved calls." : `${counted(count, "call was", "calls were")} imported.`,
      count === undefined ? "failed" : "done",
    );
  };
  return (
    <div class="offers-list">
      {saved.value.length === 0 ? (
        <p class="dim small">Fill in a call and choose “Save”. Saved calls stay in this browser.</p>
      ) : (
        <ul>
          {saved.value.map((one) => (
            <SavedItem key={one.title} one={one} />
          ))}
        </ul>
      )}
      <div class="row">
        <button type="button" class="small" onClick={() => download("troupe-calls.json", exported())} disabled={saved.value.length === 0}>
          Export
        </button>
        <FileButton text="Import" label="A file of saved calls" onFile={(file) => void load(file)} />
      </div>
    </div>
  );
}

const SavedItem = ({ one }: { readonly one: SavedCall }) => (
  <li class="saved">
    <Link href={callPath(one, one.arguments)}>
      <span>{one.title}</span>
      <small class="dim mono">{one.name}</small>
    </Link>
    <button type="button" class="small quiet" aria-label={`Delete the saved call ${one.title}`} onClick={() => forget(one.title)}>
      Delete
    </button>
  </li>
);
