// Owns: the full-text search in the messages to capabilities' actors. Does not own: the index (the server's).
import type { CapabilityRow, PageOf, SearchHit } from "../../../../src/bridges/console/shapes.ts";
import { get } from "../../api.ts";
import { useParameter } from "../../page-state.ts";
import { useResource } from "../../resource.ts";
import { ActorLink, EventLink } from "../../ui/actor-link.tsx";
import { Filters, TextFilter } from "../../ui/filters.tsx";
import { Empty, ErrorNote, Loading } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

export function CapabilitySearch({ capabilities }: { readonly capabilities: readonly CapabilityRow[] }) {
  const [text, setText] = useParameter("text");
  const searchable = capabilities.filter((one) => (one.searchable ?? []).length > 0);
  const hits = useResource(`packet search ${text}`, async (signal) =>
    text === "" || searchable.length === 0 ? undefined : await get<PageOf<SearchHit>>("/packets/search", { text, limit: 50 }, signal),
  );
  if (searchable.length === 0)
    return (
      <Empty title="Nothing is searchable here">
        <span>
          A capability with actors declares fields with <code>search</code>, such as <code>payload:text</code>.
        </span>
      </Empty>
    );
  const rows = hits.data.value?.items;
  return (
    <>
      <Filters>
        <TextFilter label="Words" value={text} placeholder='All of these words, "a phrase", begin*' onChange={setText} delayed />
      </Filters>
      {hits.error.value === undefined ? null : <ErrorNote error={hits.error.value} retry={hits.reload} />}
      {text === "" ? (
        <Empty title="Search messages to actors">
          It finds events of {searchable.map(({ id }) => id).join(", ")} by the text of their searchable fields.
        </Empty>
      ) : rows === undefined ? (
        hits.error.value === undefined ? (
          <Loading what="the messages found" />
        ) : null
      ) : rows.length === 0 ? (
        <Empty title="Nothing was found">Use fewer words, or the beginning of a word with an asterisk.</Empty>
      ) : (
        <Table
          caption="Found events"
          rows={rows}
          keyOf={({ event }) => event}
          columns={[
            { head: "Actor", cell: ({ actor }) => <ActorLink id={actor} tab="history" /> },
            { head: "Text", fill: true, cell: ({ snippet }) => <span title={snippet}>{snippet}</span> },
            { head: "Field", wide: true, cell: ({ field }) => <code>{field}</code> },
            { head: "When", wide: true, cell: ({ at }) => <Time at={at} /> },
            { head: "Event", wide: true, cell: ({ event }) => <EventLink id={event} /> },
          ]}
        />
      )}
    </>
  );
}
