/** Writes a whole response. */
import type { ReportedUsage } from '../../converter.ts';
import type { CitationEvent } from '../../conversation/events.ts';
import type { Candidate, ConversationResponse, ResponsePart } from '../../conversation/response.ts';
import type { ResponseWriteContext } from '../client.ts';
import { EventWriter } from './event-writer.ts';
import { idSuffix, writeBody } from './response-body.ts';
import { ItemsWriter } from './write-items.ts';
import type { ContentEvent } from './write-items.ts';

export function writeResponse(
  { model, candidates: [candidate] }: ConversationResponse,
  usage: ReportedUsage,
  context: ResponseWriteContext,
): Uint8Array {
  const { id, notes, seal } = context;
  const items = new ItemsWriter({ events: new EventWriter(), idSuffix: idSuffix(id), notes, seal });
  for (const event of candidate ? eventsOf(candidate) : []) items.write(event);
  items.close();
  const { incomplete } = items;
  const body = writeBody(context, {
    status: incomplete === undefined ? 'completed' : 'incomplete',
    model: model ?? context.model,
    output: items.json,
    usage,
    incomplete,
  });
  return Buffer.from(body);
}

/** The events of which an item is written: each part's, with its citations after the text. */
function* eventsOf({ parts, citations, logProbabilities, finish }: Candidate): Generator<ContentEvent> {
  yield { type: 'log-probabilities', tokens: logProbabilities };
  let length = 0;
  let rest: readonly CitationEvent[] = citations;
  for (const part of parts) {
    yield* eventsOfPart(part);
    if (part.type !== 'Text') continue;
    length += part.text.length;
    const end = length;
    yield* rest.filter((citation) => citation.end <= end);
    rest = rest.filter((citation) => citation.end > end);
  }
  if (finish) yield { type: 'finish', ...finish };
}

function* eventsOfPart(part: ResponsePart): Generator<ContentEvent> {
  switch (part.type) {
    case 'Text':
      return yield { type: 'text-delta', text: part.text };
    case 'Refusal':
      return yield { type: 'refusal-delta', text: part.text };
    case 'Reasoning':
      yield { type: 'reasoning-delta', text: part.text };
      return yield { type: 'reasoning-end', proof: part.proof };
    case 'ToolCall':
      yield { type: 'call-start', id: part.id, name: part.name };
      yield { type: 'call-delta', text: part.arguments };
      return yield { type: 'call-end' };
    case 'Image':
      return yield { type: 'image', mediaType: part.mediaType, data: part.data };
  }
}
