// The code of docs/recipes/tenants.md.
import { actor, isSignedIn } from "troupe";
import * as z from "zod";

export const workspace = actor("workspace", {
  description: "The data of one tenant.",
  per: "link",
  state: z.object({ members: z.array(z.string()), notes: z.array(z.string()).default([]) }),
  initial: ({ viewer }) => ({ members: viewer !== undefined && isSignedIn(viewer) ? [viewer.principal] : [], notes: [] }),
  tools: {
    add_note: {
      description: "Add a note.",
      input: z.object({ text: z.string() }),
      run: ({ state, args }) => void state.notes.push(args.text),
    },
    invite: {
      description: "Let another user work here.",
      input: z.object({ user: z.string() }),
      run({ state, args, key, send, settled }) {
        if (!state.members.includes(args.user)) state.members.push(args.user);
        send(member.at(args.user).invited({ workspace: key }));
        return settled(`${args.user} is a member.`);
      },
    },
  },
  resources: { notes: { uri: "workspace://{alias}/notes", view: ({ state }) => state.notes } },
});

export const member = actor("member", {
  description: "A user, with the workspaces that this user may enter.",
  per: "user",
  state: z.object({ workspaces: z.array(z.string()).default([]) }),
  links: { workspace: { kind: workspace, choices: ({ state }) => state.workspaces } },
  tools: {
    create_workspace: {
      description: "Create a workspace. Returns its id.",
      output: z.object({ workspace: z.string() }),
      run({ state, id, create, viewer, settled }) {
        const key = id();
        create(workspace.at(key), undefined, { viewer });
        state.workspaces.push(key);
        return settled({ workspace: key });
      },
    },
  },
  messages: {
    invited: {
      input: z.object({ workspace: z.string() }),
      run({ state, args }) {
        if (!state.workspaces.includes(args.workspace)) state.workspaces.push(args.workspace);
      },
    },
  },
});
