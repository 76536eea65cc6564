// Owns: an actor's app on its page: what it reads and calls goes to this actor, by the console's API. Does not own: its frame
// (ui/app-frame.tsx).
import { useEffect } from "preact/hooks";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import type { AppResource, CallInput, OfferShape, SurfaceShape, ViewerShape } from "../../../../src/bridges/console/shapes.ts";
import { MAX_URI, UriPattern } from "../../../../src/core/contract/uri-template.ts";
import { actorPath, get } from "../../api.ts";
import { appPageIn, mayAppCall } from "../../app-page.ts";
import { isObject, listIn, textIn } from "../../json.ts";
import type { AppCall, AppServer, ListMethod } from "../../mcp/app-host.ts";
import { dropQuestions } from "../../questions.ts";
import { useResource } from "../../resource.ts";
import { App } from "../../ui/app-frame.tsx";
import { QuestionDialog } from "../../ui/question-dialog.tsx";
import { ErrorNote, Loading } from "../../ui/states.tsx";
import { ViewerPicker } from "../../ui/viewer-picker.tsx";
import { type ChosenViewer, surfaceQuery, useViewer } from "../../viewer.ts";
import { callWithAnswers } from "./call.ts";
import { CallerSelect, useCaller } from "./caller.tsx";
import type { Offering } from "./offers.tsx";
import type { ActorTabProps } from "./tabs.ts";

interface ActorAppProps {
  readonly actor: Offering;
  readonly reload: () => void;
  readonly name: string;
  readonly uri: string;
  readonly viewer: ChosenViewer;
  /** Undefined: as the operator. */
  readonly as: ViewerShape | undefined;
  readonly call?: AppCall;
}

export function ActorApp({ actor, name, uri, viewer, as, call, reload }: ActorAppProps) {
  const { id, seq } = actor;
  const query = surfaceQuery(viewer);
  const who = JSON.stringify([id, query, as]);
  const loaded = useResource(`${who} ${uri}`, async (signal) => {
    const { offers } = await get<SurfaceShape>(`${actorPath(id)}/surface`, query, signal);
    const listed = offers.find(({ definition }) => definition["uri"] === uri)?.definition;
    return { offers, page: appPageIn(uri, await readResource(id, as, offers, uri), listed) };
  });
  const { data, error } = loaded;
  if (error.value !== undefined) return <ErrorNote error={error.value} retry={loaded.reload} />;
  if (data.value === undefined) return <Loading what={`the app ${uri}`} />;
  const { offers, page } = data.value;
  const server: AppServer = {
    callTool: async (tool, args) => {
      const offer = offers.find(({ ref }) => ref === `tools/${tool}`);
      if (offer === undefined || !mayAppCall(offer.definition)) throw new Error(`There is no tool ${tool} that apps may call.`);
      const result = await callActor(id, offer, args, as);
      if (!offer.readOnly) reload();
      return result;
    },
    readResource: (wanted) => readResource(id, as, offers, wanted),
    list: async (method) => {
      const { member, has } = LISTS[method];
      return {
        [member]: offers.filter((offer) => offer.listed && has(offer)).map(({ name: own, definition }) => ({ name: own, ...definition })),
      };
    },
  };
  return <App key={`${who} ${JSON.stringify(call?.arguments)}`} name={name} page={page} server={server} call={call} version={seq} />;
}

/** Of each list, its member in a result, and which offers it has. */
const LISTS: Readonly<Record<ListMethod, { readonly member: string; readonly has: (offer: OfferShape) => boolean }>> = {
  "resources/list": { member: "resources", has: ({ list, definition }) => list === "resources" && "uri" in definition },
  "resources/templates/list": {
    member: "resourceTemplates",
    has: ({ list, definition }) => list === "resources" && "uriTemplate" in definition,
  },
  "prompts/list": { member: "prompts", has: ({ list }) => list === "prompts" },
};

/** A tab with an app of the actor's kind: a resource of its own. */
export function AppTab({ actor, reload, app: { name, uri, title = name } }: ActorTabProps & { readonly app: AppResource }) {
  const viewer = useViewer();
  const as = useCaller(viewer);
  useEffect(() => dropQuestions, []);
  return (
    <>
      {as === undefined ? null : <ViewerPicker viewer={viewer} principals={actor.owner === undefined ? [] : [actor.owner]} />}
      <p class="row">
        <CallerSelect viewer={viewer} />
      </p>
      <ActorApp actor={actor} reload={reload} name={title} uri={uri} viewer={viewer} as={as} />
      <QuestionDialog />
    </>
  );
}

/** Rejects where a client would get an error. */
async function callActor(id: string, { ref }: OfferShape, args: JsonObject, as: ViewerShape | undefined): Promise<JsonObject> {
  const input: CallInput = { offer: ref, arguments: args, withResult: true, ...(as === undefined ? {} : { as }) };
  const { result, reply } = await callWithAnswers(id, input);
  if (result !== undefined) return result;
  const refused = isObject(reply) ? reply["refused"] : undefined;
  const message = isObject(refused) ? textIn(refused, "message") : undefined;
  throw new Error(message ?? "It asked too many questions.");
}

async function readResource(id: string, as: ViewerShape | undefined, offers: readonly OfferShape[], uri: string): Promise<JsonObject> {
  for (const offer of offers) {
    const args = offer.list === "resources" ? argumentsIn(offer.definition, uri) : undefined;
    if (args === undefined) continue;
    const result = await callActor(id, offer, args, as);
    // Of a template it has the template's.
    return { ...result, contents: listIn(result, "contents").map((content) => ({ ...content, uri })) };
  }
  throw new Error(`This actor has no resource ${uri}.`);
}

/** The arguments by which a resource or template leads to a URI. Undefined: it does not. */
function argumentsIn(definition: JsonObject, uri: string): JsonObject | undefined {
  if (textIn(definition, "uri") === uri) return {};
  const template = textIn(definition, "uriTemplate");
  const found = template === undefined || uri.length > MAX_URI ? undefined : new UriPattern(template, false).match(uri);
  if (found === undefined) return undefined;
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    // It is not percent-encoded.
    return undefined;
  }
}
