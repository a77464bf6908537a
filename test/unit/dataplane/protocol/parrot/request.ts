/** Converts a chat completion request to the Parrot's: lines, and a limit. It supports text only. */
import type { RequestPlan, UpstreamBody } from '../../../../../dataplane/protocol/converter.ts';
import { converted, dropped, objectTable, readObject } from '../../../../../dataplane/protocol/field-table.ts';
import { readMessages, stringOf } from '../../../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../../../dataplane/protocol/fields.ts';
import { unsupported } from '../../../../../dataplane/protocol/unsupported.ts';

/** A field that is in no table is refused by name. */
const REQUEST = objectTable('Request', {
  model: converted('`bird`'),
  messages: converted('`lines`'),
  max_tokens: converted('`most`'),
  max_completion_tokens: converted('`most`'),
  stream: converted('`live`'),
  stream_options: converted('the figures at the end'),
  temperature: dropped('a parrot has no temperature'),
});
const MESSAGE = objectTable('Messages', { role: converted('who'), content: converted('what') });

export function convertRequest(_body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const request = readObject(REQUEST, parsed, { param: '', upstream: 'the Parrot' });
  const lines = readMessages(parsed).map((message, index) => {
    const { role, content } = readObject(MESSAGE, message, { param: `messages[${index}]`, upstream: 'the Parrot' });
    if (typeof content !== 'string')
      throw unsupported(`messages[${index}].content`, 'the Parrot', 'it takes text only');
    return { who: stringOf(role), what: content };
  });
  const said = {
    bird: plan.upstreamModel,
    lines,
    most: plan.maxOutputTokens ?? request.max_completion_tokens ?? request.max_tokens,
    live: request.stream === true,
  };
  return { path: '/say', body: Buffer.from(JSON.stringify(said)) };
}
