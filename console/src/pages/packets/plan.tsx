// Owns: finding the capabilities that lead from known fields to wanted ones. Does not own: planning (the server does).
import type { CapabilityRow, PlanShape } from "../../../../src/bridges/console/shapes.ts";
import { get } from "../../api.ts";
import { useParameter } from "../../page-state.ts";
import { useResource } from "../../resource.ts";
import { Filters } from "../../ui/filters.tsx";
import { Empty, ErrorNote, Loading } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { TypedInput } from "../../ui/typed.tsx";

export function Plan({ capabilities }: { readonly capabilities: readonly CapabilityRow[] }) {
  const [from, setFrom] = useParameter("from");
  const [to, setTo] = useParameter("to");
  const plan = useResource(`plan ${from} ${to}`, async (signal) =>
    to === "" ? undefined : await get<PlanShape>("/packets/plan", { from, to }, signal),
  );
  const fields = [...new Set(capabilities.flatMap(({ requires, provides }) => [...requires, ...provides]))].toSorted();
  const steps = plan.data.value?.steps;
  return (
    <>
      <Filters>
        <label class="grow" htmlFor="known-fields">
          <span>Known fields</span>
          <TypedInput id="known-fields" value={from} placeholder="text, language" list="packet-fields" onCommit={setFrom} />
        </label>
        <label class="grow" htmlFor="wanted-fields">
          <span>Wanted fields</span>
          <TypedInput id="wanted-fields" value={to} placeholder="minutes" list="packet-fields" onCommit={setTo} />
        </label>
        <datalist id="packet-fields">
          {fields.map((field) => (
            <option key={field}>{field}</option>
          ))}
        </datalist>
      </Filters>
      {plan.error.value === undefined ? null : <ErrorNote error={plan.error.value} retry={plan.reload} />}
      {to === "" ? (
        <Empty title="Which capabilities lead there?">
          Name the fields that you want, and those that you have, separated by commas. The server finds the capabilities to request, in
          order.
        </Empty>
      ) : plan.loading.value && plan.data.value === undefined ? (
        <Loading what="the plan" />
      ) : steps === undefined ? (
        plan.error.value === undefined ? (
          <Empty title="No capabilities lead there">Name more known fields, or see under Capabilities what provides the wanted ones.</Empty>
        ) : null
      ) : steps.length === 0 ? (
        <Empty title="Nothing to do">All wanted fields are known.</Empty>
      ) : (
        <Table
          caption="Steps"
          rows={steps.map((step, at) => ({ ...step, at: at + 1 }))}
          keyOf={({ at }) => String(at)}
          columns={[
            { head: "Step", align: "right", cell: ({ at }) => at },
            { head: "Capability", cell: ({ capability_id: id }) => <span class="mono">{id}</span> },
            { head: "Takes", cell: ({ takes }) => <span class="mono">{takes.join(", ")}</span> },
            { head: "Gives", cell: ({ gives }) => <span class="mono">{gives.join(", ")}</span> },
          ]}
        />
      )}
    </>
  );
}
