/** docs/protocols.md, out of the tables that the conversions go by. */
import {
  ANTHROPIC_MODELS, CONVERSE_MODELS, DEFAULT_CAPABILITIES, OPENAI_MODELS,
} from '../../dataplane/protocol/capabilities.ts';
import type { KnownModels } from '../../dataplane/protocol/capabilities.ts';
import * as toConverse from '../../dataplane/protocol/anthropic-converse/table.ts';
import * as toOpenAI from '../../dataplane/protocol/anthropic-openai/table.ts';
import type { Handling, KindTable, ObjectTable, ValueTable } from '../../dataplane/protocol/field-table.ts';
import * as toMessages from '../../dataplane/protocol/gemini-anthropic/table.ts';
import * as fromGemini from '../../dataplane/protocol/gemini-anthropic/answer-table.ts';
import * as toChat from '../../dataplane/protocol/responses-openai/table.ts';
import * as fromChat from '../../dataplane/protocol/responses-openai/answer-table.ts';
import * as fromMessages from '../../dataplane/protocol/responses-anthropic/answer-table.ts';
import * as toAnthropic from '../../dataplane/protocol/openai-anthropic/table.ts';
import { wrapMarkdown } from './wrap.ts';

type Table = ObjectTable | KindTable | ValueTable;

const HEAD = `# Protocols

A client speaks OpenAI's chat completions (\`/v1/chat/completions\`), OpenAI's Responses (\`/v1/responses\`),
Anthropic's messages (\`/v1/messages\`) or Google's Gemini (\`/v1beta/models/{model}:generateContent\`), and any chat
model answers it, whatever its provider speaks. A channel's
\`endpoints\` say whether its provider serves Responses.

**The same protocol on both sides** passes through: unknown fields, unknown events and beta headers too, byte for byte
where nothing must change. What changes is the model's name where the channel has another, and the output limit; streams
of OpenAI's protocol are asked for their usage, which is taken out again where the client did not ask. A member that is
given twice in one object is refused, wherever two readers could disagree on what was asked.

**Different protocols** are converted. This page says what becomes of every field. It is generated from the tables that
the conversions themselves go by (\`dataplane/protocol/<client>-<provider>/table.ts\`): a converter can read only what
its table calls converted.

- *converted*: it reaches the other side.
- *left out*: nothing is lost by it, for the reason given.
- *left out, named*: something is lost, and the answer's header \`x-modelgateway-dropped\` names it.
- *refused*: the call is answered with 400 \`unsupported_parameter\` (\`invalid_request_error\`), and the message names
  the field. Values that only say the default are let through. A field of a request that is in no table is refused as
  well; \`null\` is the same as nothing.

Fields of an answer that are in no table are left out, so that a provider may add what it likes.

Figures that a provider does not give are estimated. A stream begins with an estimate of the input and ends with the
true figures. A provider that breaks off, sends an error or stops without saying why it stopped never looks like a
normal end: the client gets an error event, or \`response.failed\`. Signs of life (comments, pings) are passed on as
the other protocol has them.
`;

const PROVIDER_TOOLS = `## Tools that the provider runs

A call may ask the provider to run a tool itself, such as \`web_search\`. A model's \`providerTools\` in its ModelRoute
says what becomes of it, in all dialects:

| \`providerTools\` | where the call passes through | where it is converted |
|---|---|---|
| \`Refuse\` | 400 \`not_allowed\` | 400 \`unsupported_parameter\` |
| \`Drop\` | left out, named | left out, named |
| \`Allow\` | handed on | left out, named: the other protocol has no such tools |
| absent | handed on or refused, as \`allow\` says | left out, named; of chat completions refused |

What is left out is named in \`x-modelgateway-dropped\` with its type: \`tools[3] (web_search)\`. A \`tool_choice\` that
asks for such a tool goes with it. So do, where a call is converted, the steps of such tools in the conversation. The
chat dialect's own search, \`web_search_options\`, counts as one of these tools.

A tool that is handed on is billed by its uses where these have a price. Without one, what a provider charges for it
beside tokens is not billed, which only \`allow: [ServerTools]\` lets through. A tool that is left out is held for
nothing.
`;

const MODELS = `## What a model takes

Models of one protocol differ in what they take. A ModelRoute states it for a model (\`capabilities\`). What it does not
state is as the tables below say of the model's name at its provider, and otherwise:

${Object.entries(DEFAULT_CAPABILITIES).map(([name, value]) => `- \`${name}: ${String(value)}\``).join('\n')}

In a converted call, what the model does not take is left out, and the answer's header \`x-modelgateway-dropped\` names
the fields as the client wrote them: \`output_config.effort, temperature\`. A value that is the default is not named.
Three things are not lost but go another way: an answer's schema becomes an instruction (\`strictSchemas: false\`), the
system message has the whole of a tool's description that is too long (\`toolDescriptionLength\`), and a conversation
that
ends with the assistant gets a message that says to go on (\`prefill: false\`). Calls that pass through are not changed.

Anthropic's providers cache a prompt up to a breakpoint only, which the other dialects do not have. A converted request
that declares tools or holds an earlier answer gets some where the client sets no \`cache_control\`: after the tools and
the system prompt, and after the last two turns of the user. What is written to the cache costs a quarter more, what is
read from it a tenth. \`promptCaching: false\` leaves them out.

Conversations that Anthropic's API would refuse are mended: texts without any words are left out, a tool call without a
result gets one that says so, a result without its call becomes text, turns of one side are joined, a conversation that
begins with the assistant gets a message before it, and of more than four cache breakpoints the last four stay.
`;

const THROUGH_CHAT = `What the client sends becomes a chat completion request as above, which is never written, and
goes on from there as that of an OpenAI client. It differs in this: images and files stay in the results of tools,
files may come by URL, every item keeps its place, and thinking that the gateway has sealed goes back as the blocks that
Anthropic signed. What is refused or left out is named as the client wrote it.
`;

const THROUGH_MESSAGES = `On providers of other protocols the request becomes one of messages as below, which is never
sent, and goes on from there as that of an Anthropic client; a temperature keeps its own scale on OpenAI's protocol.
What is refused or left out is named as the client wrote it. Fields may have either of Google's spellings,
\`maxOutputTokens\` and \`max_output_tokens\`.
`;

function capabilities(protocol: string, known: readonly KnownModels[]): readonly string[] {
  const rows = known.map(({ models, capabilities: differing }) =>
    `| ${models} | ${Object.entries(differing).map(([name, value]) => `\`${name}: ${String(value)}\``).join(', ')} |`);
  return [`### On providers of ${protocol}'s protocol\n`, '| models | |', '|---|---|', ...rows, ''];
}

/** The page, as it is kept in docs/. */
export function protocolsText(): string {
  return wrapMarkdown([
    HEAD, PROVIDER_TOOLS, MODELS,
    ...capabilities('OpenAI', OPENAI_MODELS), ...capabilities('Anthropic', ANTHROPIC_MODELS),
    ...capabilities('Bedrock Converse', CONVERSE_MODELS),
    '## OpenAI clients on providers of Anthropic\'s protocol\n',
    '### What the client sends\n', ...toAnthropic.REQUEST_TABLES.map(section),
    '### What the client gets\n', ...toAnthropic.RESPONSE_TABLES.map(section),
    '## Anthropic clients on providers of OpenAI\'s protocol\n',
    '### What the client sends\n', ...toOpenAI.REQUEST_TABLES.map(section),
    '### What the client gets\n', ...toOpenAI.RESPONSE_TABLES.map(section),
    '## Responses clients on providers of chat completions\n',
    '### What the client sends\n', ...toChat.REQUEST_TABLES.map(section),
    '### What the client gets\n', ...fromChat.RESPONSE_TABLES.map(section),
    '## Responses clients on providers of Anthropic\'s protocol\n',
    THROUGH_CHAT,
    '### What the client gets\n', ...fromMessages.RESPONSE_TABLES.map(section),
    '## Gemini clients on providers of Anthropic\'s protocol\n',
    THROUGH_MESSAGES,
    '### What the client sends\n', ...toMessages.REQUEST_TABLES.map(section),
    '### What the client gets\n', ...fromGemini.RESPONSE_TABLES.map(section),
    '## Anthropic clients on Bedrock\'s Converse\n',
    'Clients of the other dialects go through Anthropic\'s messages, as above, and from there on as follows.\n',
    '### What the client sends\n', ...toConverse.REQUEST_TABLES.map(section),
    '### What the client gets\n', ...toConverse.RESPONSE_TABLES.map(section),
  ].join('\n'));
}

function section(table: Table): string {
  if ('values' in table) return [`#### ${table.title}\n`, '| from | to |', '|---|---|', ...[...table.values].map(([
    from, to,
  ]) => `| \`${from}\` | ${to} |`), ''].join('\n');
  const [head, rows] = 'kinds' in table ? ['kind', table.kinds] : ['field', table.fields];
  return [`#### ${table.title}\n`, `| ${head} | | |`, '|---|---|---|', ...[...rows].map(([name, handling]) =>
    row(name, handling)), ''].join('\n');
}

function row(name: string, handling: Handling): string {
  switch (handling.action) {
    case 'Converted': return `| \`${name}\` | converted | ${handling.to} |`;
    case 'Dropped': return `| \`${name}\` | left out | ${handling.why} |`;
    case 'Omitted':
      return `| \`${name}\` | left out, named | ${handling.why}${neutralText(handling.neutral, 'not named')} |`;
    case 'Refused': return `| \`${name}\` | refused | ${handling.why}${neutralText(handling.neutral, 'let through')} |`;
  }
}

function neutralText(neutral: readonly unknown[], what: string): string {
  const values = neutral.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  return values === '' ? '' : `; ${values} is ${what}`;
}
