// The registry of a transcript's setup.
import { CONTENT, type Json } from "../../src/core/contract/index.ts";
import { registry, type Registry, type RegistryPrompt, type RegistryResource, type RegistryTool } from "../../src/mcp/source/index.ts";
import { refuse } from "../../src/core/actor/index.ts";
import type { Setup } from "./fixture.ts";
import { PROMPTS, TOOLS } from "./handlers.ts";

interface Titled {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

const described = ({ title, description }: Titled): { readonly title?: string; readonly description?: string } => ({
  ...(title === undefined ? undefined : { title }),
  ...(description === undefined ? undefined : { description }),
});

/** A handler that this runner lacks; the rest of the transcript can still be played. */
const unknown = (name: string) => (): never => {
  throw new Error(`This runner has no handler ${name}.`);
};

const toolOf = (one: Setup["tools"][number]): RegistryTool => ({
  ...described(one),
  ...(one.input_schema === undefined ? undefined : { input: one.input_schema }),
  ...(one.output_schema === undefined ? undefined : { output: one.output_schema }),
  ...(one.annotations === undefined ? undefined : { annotations: one.annotations }),
  work: TOOLS[one.handler] ?? unknown(one.handler),
});

const resourceOf = (one: Setup["resources"][number]): RegistryResource => ({
  ...described(one),
  uri: one.uri,
  ...(one.mime_type === undefined ? undefined : { mimeType: one.mime_type }),
  ...(one.size === undefined ? undefined : { size: one.size }),
  view: () => ({
    [CONTENT]: one.contents.map(({ uri, mime_type, text, blob }): Json => ({
      type: "resource",
      resource: {
        uri,
        ...(mime_type === undefined ? undefined : { mimeType: mime_type }),
        ...(text === undefined ? undefined : { text }),
        ...(blob === undefined ? undefined : { blob }),
      },
    })),
  }),
});

const templateOf = (one: Setup["resource_templates"][number]): RegistryResource => ({
  ...described(one),
  uri: one.uri_template,
  ...(one.mime_type === undefined ? undefined : { mimeType: one.mime_type }),
  // Transcripts list templates, and never read them.
  view: () => refuse("It is listed only.", { code: "UNKNOWN" }),
});

const promptOf = (one: Setup["prompts"][number]): RegistryPrompt => ({
  ...described(one),
  ...(one.arguments === undefined
    ? undefined
    : {
        arguments: one.arguments.map(({ name, title, description, required }) => ({
          name,
          ...(title === undefined ? undefined : { title }),
          ...(description === undefined ? undefined : { description }),
          ...(required === undefined ? undefined : { required }),
        })),
      }),
  view: PROMPTS[one.handler] ?? unknown(one.handler),
});

function byName<D extends { readonly name: string }, M>(list: readonly D[], make: (one: D) => M): Readonly<Record<string, M>> {
  return Object.fromEntries(list.map((one) => [one.name, make(one)]));
}

export function fixtureSource({ tools, resources, resource_templates, prompts }: Setup): Registry {
  return registry({
    tools: byName(tools, toolOf),
    resources: { ...byName(resources, resourceOf), ...byName(resource_templates, templateOf) },
    prompts: byName(prompts, promptOf),
  });
}
