/** docs/reference/protocols/, out of the tables that the conversions go by. */
import {
  ANTHROPIC_MODELS,
  CONVERSE_MODELS,
  DEFAULT_CAPABILITIES,
  GEMINI_MODELS,
  OPENAI_MODELS,
} from '../../dataplane/protocol/capabilities.ts';
import type { Says } from '../../dataplane/protocol/clients/client.ts';
import type { KnownModels } from '../../dataplane/protocol/capabilities.ts';
import * as google from '../../dataplane/protocol/clients/gemini/table.ts';
import * as messages from '../../dataplane/protocol/clients/anthropic/table.ts';
import * as chat from '../../dataplane/protocol/clients/openai-chat/table.ts';
import * as images from '../../dataplane/protocol/clients/openai-images/table.ts';
import * as responses from '../../dataplane/protocol/clients/responses/table.ts';
import * as anthropic from '../../dataplane/protocol/providers/anthropic/table.ts';
import * as converse from '../../dataplane/protocol/providers/converse/table.ts';
import * as gemini from '../../dataplane/protocol/providers/gemini/table.ts';
import * as openaiChat from '../../dataplane/protocol/providers/openai-chat/table.ts';
import * as responsesApi from '../../dataplane/protocol/providers/responses/table.ts';
import type { Handling, KindTable, ObjectTable, ValueTable } from '../../dataplane/protocol/field-table.ts';
import * as embeddings from '../../dataplane/protocol/embeddings-on-gemini.ts';
import * as imagen from '../../dataplane/protocol/images-on-imagen.ts';
import * as googleEmbeddings from '../../dataplane/protocol/gemini-embeddings-on-openai.ts';
import { CLAUDE_BUDGETS, CLAUDE_EFFORTS } from '../../dataplane/protocol/providers/claude-thinking.ts';

type Table = ObjectTable | KindTable | ValueTable;

const HEAD = `# Protocols

A client speaks OpenAI's chat completions (\`/v1/chat/completions\`), OpenAI's Responses (\`/v1/responses\`),
Anthropic's messages (\`/v1/messages\`) or Google's Gemini API (\`/v1beta/models/{model}:generateContent\`), and can
call any chat model, whatever protocol its provider speaks. A channel's
\`endpoints\` say whether its provider serves Responses.

**The same protocol on both sides** passes through byte for byte, including unknown fields, unknown events and beta
headers; chat completions for models that only Responses serve are converted. Only the model's name, if the channel renames it, and the output limit are changed; streams of OpenAI's
protocol are asked for their usage, which is removed again if the client did not ask for it. A member that appears twice
in one object is refused, because two parsers could read it differently.

**Realtime sessions** (\`/v1/realtime\`) pass through to channels of OpenAI's protocol, event by event, and are not
converted: types and fields that the gateway does not know are refused ([realtime](../http.md#realtime)).

**Different protocols** are converted. These pages describe how each field is converted. They are generated from the
tables of the clients and providers (\`dataplane/protocol/clients/<dialect>/table.ts\`, \`providers/<name>/table.ts\`): a reader
can read only fields that its table marks as converted.

- *converted*: the field reaches the other side.
- *left out*: nothing is lost, for the reason given.
- *left out, named*: something is lost, and the response header \`x-modelgateway-dropped\` names it.
- *refused*: the call gets 400 \`unsupported_parameter\` (\`invalid_request_error\`), and the message names the field. A
  value that equals the default is let through. A field of a request that is in no table is refused too; \`null\` counts
  as absent.

Fields of a response that are in no table are left out, since providers may add fields at any time.

Token counts that a provider does not report are estimated. A stream begins with an estimate of the input and ends with
the true counts. If a provider breaks off, sends an error or stops without a reason, the client never sees a normal end
but an error event, or \`response.failed\`. Keep-alives (comments, pings) are converted to those of the other protocol.
`;

const PROVIDER_TOOLS = `## Tools that the provider runs

A call may ask the provider to run a tool itself, such as \`web_search\`. A model's \`providerTools\` in its ModelRoute
decides what happens, in all dialects:

| \`providerTools\` | where the call passes through | where it is converted |
|---|---|---|
| \`Refuse\` | 400 \`not_allowed\` | 400 \`unsupported_parameter\` |
| \`Drop\` | left out, named | left out, named |
| \`Allow\` | passed on | left out, named: the other protocol has no such tools |
| absent | passed on or refused, as \`allow\` says | left out, named; in chat completions refused |

A tool that is left out is named in \`x-modelgateway-dropped\` with its type: \`tools[3] (web_search)\`. A
\`tool_choice\` for such a tool is left out too, and in a converted call also the tool's earlier steps in the
conversation. The search of chat completions, \`web_search_options\`, counts as one of these tools.

A tool that is passed on is billed by its uses if these have a price. Without a price, only \`allow: [ServerTools]\`
lets it pass, and the provider's charges for it besides tokens are not billed. A tool that is left out adds nothing to
the hold.
`;

const MODELS = `## What a model takes

Models of one protocol support different features. A ModelRoute declares them for a model (\`capabilities\`). The
defaults depend on the model's name at its provider, as the tables below say, and otherwise are:

${Object.entries(DEFAULT_CAPABILITIES)
  .map(([name, value]) => `- \`${name}: ${String(value)}\``)
  .join('\n')}

In a converted call, fields that the model does not support are left out, and the response header
\`x-modelgateway-dropped\` names them as the client wrote them: \`output_config.effort, temperature\`. A value that
equals the default is not named. Three features are replaced instead: an output schema becomes an instruction
(\`strictSchemas: false\`), a tool description that is too long moves to the system message (\`toolDescriptionLength\`),
and a conversation that ends with the assistant gets a message that asks to continue (\`prefill: false\`). Calls that
pass through are not changed.

Anthropic's providers cache a prompt up to a breakpoint, which the other dialects do not have. If a converted request
has tools or an earlier response, and the client sets no \`cache_control\`, the gateway adds breakpoints after the tools
and the system prompt, and after the last two turns of the user. Writing to the cache costs a quarter more than plain
input, reading from it a tenth. \`promptCaching: false\` turns this off.

Conversations that Anthropic's API would refuse are repaired: blank texts are left out, a tool call without a result
gets a result that says so, a result without its call becomes text, consecutive turns of one role are joined, a
conversation that begins with the assistant gets a message before it, and of more than four cache breakpoints the last
four are kept.
`;

const CONVERSATIONS = `## Conversations

A request is read into a conversation, a form that no client and no provider speaks, and the
provider's request is written from it. So what a client can say stands in one table, and what a provider takes in
another. A setting that the provider does not take is left out or refused by the name that the client gave it.

Before a conversation is written, it is repaired for its provider: results stand directly after their calls, a call
without a result gets one that says so, a result without its call becomes text, ids of calls are unique, system text
between turns becomes text of the user, and reasoning that another provider signed, or nobody, is left out.
`;

const ON_GOOGLE_EMBEDDINGS = `On channels of OpenAI's protocol they become embeddings of texts. On channels of Google's
protocol they pass through.
`;

const KEY = `[Protocols](README.md) explains *converted*, *left out*, *left out, named* and *refused*.
`;

const ON_GEMINI = `Thought signatures come to the client as signatures of its reasoning: of thinking blocks in messages,
in \`reasoning_details\` of chats, and sealed in the reasoning items of Responses. A client that sends them back keeps
the model's thoughts. A call without its signature gets Google's value that skips the check.
`;

const ON_RESPONSES = `OpenAI serves some models with Responses only, and others call tools there only while they reason.
A chat completion, a message or a call in Google's protocol is converted to Responses on a channel of OpenAI's protocol
whose \`endpoints\` have them, if

- its \`endpoints\` have no \`Chat\`, or
- the model has no chat completions (\`chatCompletions: false\`), or
- the call has tools, and the model does not call them in chat completions while it reasons
  (\`chatToolsWithReasoning: false\`). A chat completion passes through all the same if it turns reasoning off
  (\`reasoning_effort: none\`), or if the model reasons only when it is asked to, as GPT-5.4 does.

Any other chat completion passes through, and messages and calls in Google's protocol become chat completions.

The provider stores nothing (\`store: false\`). Its encrypted reasoning comes to the client as the signature of a
thinking block, in \`reasoning_details\`, or as a thought signature, sealed for the channel that made it: a client that
sends it back keeps the model's thoughts, its next call goes to the same channel, and any other channel leaves it out.
An output limit below 16, which Responses refuse, is sent as 16, for which the money is held.
`;

const ON_IMAGES = `Generations and edits of images are conversations with models of Gemini that make pictures, on channels
of Google's protocol: the prompt and the pictures are a turn of the user, and the response is to be a picture. On channels
of OpenAI's protocol they pass through.
`;

const ON_IMAGEN = `Generations with a model of Imagen become \`:predict\`, at the Gemini API and at Vertex. A picture is an
entry of \`data\`, with the prompt that Imagen made of the client's as \`revised_prompt\`; what was filtered is none, and
costs nothing. Without a picture, \`refusal\` says why.
`;

const ON_EMBEDDINGS = `Embeddings of texts are converted on channels of Google's protocol: to \`:batchEmbedContents\` at the
Gemini API, and at Vertex to \`:predict\`, or, for models from gemini-embedding-2 on, to \`:embedContent\`, which takes one
text. On channels of OpenAI's protocol they pass through.
`;

/** The clients, by the mark that stands for each in the overview. */
const CLIENTS: readonly (readonly [string, Says])[] = [
  ['C', chat.SAYS],
  ['R', responses.SAYS],
  ['M', messages.SAYS],
  ['G', google.SAYS],
];

interface Taken {
  readonly SETTINGS_SECTION: ObjectTable;
  readonly PARTS: KindTable;
  readonly TOOL: ObjectTable;
}

const PROVIDERS: readonly (readonly [string, Taken])[] = [
  ['chat completions', openaiChat],
  ['Responses', responsesApi],
  ['messages', anthropic],
  ['Gemini', gemini],
  ['Converse', converse],
];

const OVERVIEW = `## What reaches what

Each row is something that a request can say, with the clients that can say it: of chat completions (C), Responses (R),
Anthropic's messages (M) and Google's protocol (G). Each column is a protocol of providers, on which a call of the same
protocol passes through. Models differ within one protocol, and the pages above tell how a value is converted.
`;

const WORDS: Readonly<Record<Handling['action'], string>> = {
  Converted: 'converted',
  Dropped: 'left out',
  Omitted: 'left out, named',
  Refused: 'refused',
};

/** Clients × providers × what a request can say. */
function overview(): readonly string[] {
  const rowsOf = (
    head: string,
    said: (says: Says) => readonly string[],
    taken: (tables: Taken) => ReadonlyMap<string, Handling>,
  ): readonly string[] => [
    `| ${[head, 'clients', ...PROVIDERS.map(([name]) => name)].join(' | ')} |`,
    `|${'---|'.repeat(PROVIDERS.length + 2)}`,
    ...[...taken(anthropic).keys()].map((name) => {
      const clients = CLIENTS.flatMap(([mark, says]) => (said(says).includes(name) ? [mark] : [])).join(' ');
      const cells = PROVIDERS.map(([, tables]) => wordOf(taken(tables).get(name)));
      return `| ${[wordsOf(name), clients, ...cells].join(' | ')} |`;
    }),
    '',
  ];
  return [
    OVERVIEW,
    ...rowsOf(
      'setting',
      ({ settings }) => settings,
      ({ SETTINGS_SECTION: { fields } }) => fields,
    ),
    ...rowsOf(
      'part of a turn',
      ({ parts }) => parts,
      ({ PARTS: { kinds } }) => kinds,
    ),
    ...rowsOf(
      'of a tool',
      ({ tools }) => tools,
      ({ TOOL: { fields } }) => fields,
    ),
  ];
}

function wordOf(handling: Handling | undefined): string {
  if (!handling) throw new Error('a provider has no row');
  return WORDS[handling.action];
}

/** `maxOutputTokens` is max output tokens. */
function wordsOf(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
}

function capabilities(protocol: string, known: readonly KnownModels[]): readonly string[] {
  const rows = known.map(
    ({ models, capabilities: differing }) =>
      `| ${models} | ${Object.entries(differing)
        .map(([name, value]) => `\`${name}: ${String(value)}\``)
        .join(', ')} |`,
  );
  return [`### On providers of ${protocol}'s protocol\n`, '| models | |', '|---|---|', ...rows, ''];
}

/** A page about one dialect of clients or one protocol of providers. */
interface Page {
  readonly file: string;
  readonly title: string;
  readonly intro: string;
  /** Sections in their order, each with its tables. */
  readonly sections: readonly (readonly [heading: string, tables: readonly Table[], intro?: string])[];
}

const [GETS, TAKES, READ] = ['What the client gets', 'What the provider takes', 'What is read of its responses'];
const READS = 'What is read of a request';

const CLIENT_PAGES: readonly Page[] = [
  {
    file: 'client-chat-completions.md',
    title: 'Clients of chat completions',
    intro: '`POST /v1/chat/completions`, as OpenAI defines it.',
    sections: [
      [READS, chat.REQUEST_TABLES],
      [GETS, chat.RESPONSE_TABLES],
    ],
  },
  {
    file: 'client-responses.md',
    title: 'Clients of Responses',
    intro: '`POST /v1/responses`, as OpenAI and Open Responses define it.',
    sections: [
      [READS, responses.REQUEST_TABLES],
      [GETS, responses.RESPONSE_TABLES],
    ],
  },
  {
    file: 'client-messages.md',
    title: 'Clients of messages',
    intro: '`POST /v1/messages`, as Anthropic defines it.',
    sections: [
      [READS, messages.REQUEST_TABLES],
      [GETS, messages.RESPONSE_TABLES],
    ],
  },
  {
    file: 'client-gemini.md',
    title: "Clients of Google's Gemini API",
    intro: '`POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.',
    sections: [
      [READS, google.REQUEST_TABLES],
      [GETS, google.RESPONSE_TABLES],
    ],
  },
  {
    file: 'client-images.md',
    title: "Clients of OpenAI's image endpoints",
    intro: ON_IMAGES,
    sections: [
      [READS, images.REQUEST_TABLES],
      ['What Imagen takes of it', [imagen.REQUEST], ON_IMAGEN],
      [GETS, images.RESPONSE_TABLES],
    ],
  },
  {
    file: 'client-embeddings.md',
    title: 'Clients of embeddings',
    intro: 'Embeddings are converted in both directions between the APIs of OpenAI and Google.',
    sections: [
      ["OpenAI's embeddings on Google", [embeddings.REQUEST], ON_EMBEDDINGS],
      ["Google's embeddings on OpenAI", [googleEmbeddings.REQUEST], ON_GOOGLE_EMBEDDINGS],
    ],
  },
];

const PROVIDER_PAGES: readonly Page[] = [
  {
    file: 'provider-chat-completions.md',
    title: 'Providers of chat completions',
    intro: "Channels of OpenAI's protocol, for every client but one of chat completions itself.",
    sections: [
      [TAKES, openaiChat.REQUEST_TABLES],
      [READ, openaiChat.RESPONSE_TABLES],
    ],
  },
  {
    file: 'provider-responses.md',
    title: 'Providers of Responses',
    intro: ON_RESPONSES,
    sections: [
      [TAKES, responsesApi.REQUEST_TABLES],
      [READ, responsesApi.RESPONSE_TABLES],
    ],
  },
  {
    file: 'provider-anthropic.md',
    title: "Providers of Anthropic's protocol",
    intro: "Anthropic's own API, Claude on Vertex, and compatible providers.",
    sections: [
      [TAKES, [...anthropic.REQUEST_TABLES, CLAUDE_EFFORTS, CLAUDE_BUDGETS]],
      [READ, anthropic.RESPONSE_TABLES],
    ],
  },
  {
    file: 'provider-converse.md',
    title: 'Bedrock Converse',
    intro: 'Efforts and budgets of Claude are those of [Anthropic](provider-anthropic.md).',
    sections: [
      [TAKES, converse.REQUEST_TABLES],
      [READ, converse.RESPONSE_TABLES],
    ],
  },
  {
    file: 'provider-gemini.md',
    title: "Providers of Google's Gemini API",
    intro: ON_GEMINI,
    sections: [
      [TAKES, gemini.REQUEST_TABLES],
      [READ, gemini.RESPONSE_TABLES],
    ],
  },
];

/** The pages of docs/reference/protocols: an overview, and one page per dialect of clients and protocol of providers. */
export function protocolPages(): readonly { readonly file: string; readonly text: string }[] {
  const pages = [...CLIENT_PAGES, ...PROVIDER_PAGES].map((page) => ({ file: page.file, text: pageText(page) }));
  return [{ file: 'README.md', text: overviewText() }, ...pages];
}

function overviewText(): string {
  return [
    HEAD,
    ...linksTo('Clients', CLIENT_PAGES),
    ...linksTo('Providers', PROVIDER_PAGES),
    ...overview(),
    PROVIDER_TOOLS,
    MODELS,
    ...capabilities('OpenAI', OPENAI_MODELS),
    ...capabilities('Anthropic', ANTHROPIC_MODELS),
    ...capabilities('Bedrock Converse', CONVERSE_MODELS),
    ...capabilities('Gemini', GEMINI_MODELS),
    CONVERSATIONS,
  ].join('\n');
}

function linksTo(heading: string, pages: readonly Page[]): readonly string[] {
  return [`## ${heading}\n`, ...pages.map(({ file, title }) => `- [${title}](${file})`), ''];
}

function pageText({ title, intro, sections }: Page): string {
  return [
    `# ${title}\n`,
    `${intro.trim()}\n\n${KEY}`,
    ...sections.flatMap(([heading, tables, about]) => [
      `## ${heading}\n`,
      ...(about === undefined ? [] : [about]),
      ...tables.map(section),
    ]),
  ].join('\n');
}

function section(table: Table): string {
  if ('values' in table)
    return [
      `### ${table.title}\n`,
      '| from | to |',
      '|---|---|',
      ...[...table.values].map(([from, to]) => `| \`${from}\` | ${to} |`),
      '',
    ].join('\n');
  const [head, rows] = 'kinds' in table ? ['kind', table.kinds] : ['field', table.fields];
  return [
    `### ${table.title}\n`,
    `| ${head} | | |`,
    '|---|---|---|',
    ...[...rows].map(([name, handling]) => row(name, handling)),
    '',
  ].join('\n');
}

function row(name: string, handling: Handling): string {
  switch (handling.action) {
    case 'Converted':
      return `| \`${name}\` | converted | ${handling.to} |`;
    case 'Dropped':
      return `| \`${name}\` | left out | ${handling.why} |`;
    case 'Omitted':
      return `| \`${name}\` | left out, named | ${handling.why}${neutralText(handling.neutral, 'not named')} |`;
    case 'Refused':
      return `| \`${name}\` | refused | ${handling.why}${neutralText(handling.neutral, 'let through')} |`;
  }
}

function neutralText(neutral: readonly unknown[], what: string): string {
  const values = neutral.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  return values === '' ? '' : `; ${values} is ${what}`;
}
