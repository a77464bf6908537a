/**
 * Reduces recorded exchanges to what is the same in every run: the kinds of messages, items and parts, names of tools,
 * events and stop reasons; no texts, ids, dates or counts.
 */
import { isRecord, itemsOf, stringOf, textOf } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';
import { SseFramer } from '../../../dataplane/protocol/sse.ts';
import type { Exchange, SentRequest } from './tap.ts';

interface RequestSummary {
  /** "POST /v1/messages" */
  readonly call: string;
  readonly stream: boolean;
  /** "user: text", "assistant: tool_use Write" */
  readonly conversation: readonly string[];
  readonly tools: readonly string[];
}

/** One call of a client: its request, what the provider was sent for it, and the response. */
export interface TurnSummary {
  readonly client: RequestSummary;
  readonly provider: readonly RequestSummary[];
  readonly status: number;
  /** Of a stream, its events; otherwise the parts of the answer. Repeated ones are written once. */
  readonly answer: readonly string[];
}

type Dialect = 'chat' | 'messages' | 'responses' | 'gemini' | 'converse';

const DIALECTS: readonly (readonly [RegExp, Dialect])[] = [
  [/^\/v1\/chat\/completions/, 'chat'],
  [/^\/v1\/messages(?!\/count_tokens)/, 'messages'],
  [/^\/v1\/responses/, 'responses'],
  [/^\/v1(?:beta)?\/models\/[^:]+:(?:streamG|g)enerateContent/, 'gemini'],
  [/^\/model\/[^/]+\/converse/, 'converse'],
];

/** The model that a request names, in its path or in its body; undefined: it is no call of a model. */
export function modelOf({ path, body }: SentRequest): string | undefined {
  return dialectOf(path) === undefined
    ? undefined
    : (/\/models\/([^:]+):/.exec(path)?.[1] ?? textOf(parse(body)['model']));
}

/** The names of the tools that a request declares. */
export function toolsOf({ path, body }: SentRequest): readonly string[] {
  return summarize({ path, body }).tools;
}

/** The turns of a conversation. */
export function turnsOf(exchanges: readonly Exchange[]): readonly TurnSummary[] {
  return exchanges.map(({ request, upstream, status, headers, body }) => ({
    client: summarize(request),
    provider: upstream.map(summarize),
    status,
    answer: withoutRepeats(
      stringOf(headers['content-type']).startsWith('text/event-stream')
        ? eventsOf(body).map(eventName)
        : partsOf(parse(body)),
    ),
  }));
}

function summarize({ path, body }: Pick<SentRequest, 'path' | 'body'>): RequestSummary {
  const parsed = parse(body);
  const dialect = dialectOf(path);
  const call = path.replace(/\?.*/, '');
  if (dialect === undefined) return { call, stream: false, conversation: [], tools: [] };
  return {
    call,
    stream: parsed['stream'] === true || /:stream|-stream$/.test(call),
    conversation: READERS[dialect](parsed),
    tools: toolNames(parsed),
  };
}

function dialectOf(path: string): Dialect | undefined {
  return DIALECTS.find(([pattern]) => pattern.test(path))?.[1];
}

const READERS: Readonly<Record<Dialect, (body: JsonRecord) => readonly string[]>> = {
  chat: ({ messages }) =>
    records(messages).map((message) =>
      line(message['role'], [...kindsOf(message['content']), ...records(message['tool_calls']).map(kindOf)]),
    ),
  messages: ({ system, messages }) => [
    ...(system === undefined ? [] : ['system']),
    ...records(messages).map(({ role, content }) => line(role, kindsOf(content))),
  ],
  responses: ({ instructions, input }) => [
    ...(instructions === undefined ? [] : ['instructions']),
    ...(typeof input === 'string'
      ? ['user: text']
      : records(input).map((item) =>
          item['role'] === undefined ? kindOf(item) : line(item['role'], kindsOf(item['content'])),
        )),
  ],
  gemini: ({ systemInstruction, contents }) => [
    ...(systemInstruction === undefined ? [] : ['systemInstruction']),
    ...records(contents).map(({ role, parts }) => line(role, records(parts).map(kindOf))),
  ],
  converse: ({ system, messages }) => [
    ...(system === undefined ? [] : ['system']),
    ...records(messages).map(({ role, content }) => line(role, kindsOf(content))),
  ],
};

function line(role: unknown, kinds: readonly string[]): string {
  return kinds.length === 0 ? stringOf(role) : `${stringOf(role)}: ${withoutRepeats(kinds).join(', ')}`;
}

function kindsOf(content: unknown): readonly string[] {
  return typeof content === 'string' ? ['text'] : records(content).map(kindOf);
}

/** What tells the parts of Google and of Converse, which have no type. */
const MEMBERS = [
  'functionCall',
  'functionResponse',
  'inlineData',
  'toolUse',
  'toolResult',
  'reasoningContent',
  'cachePoint',
  'text',
] as const;

/** A part, an item or a call: its type with the name of its tool. */
function kindOf(part: JsonRecord): string {
  const { type, name, function: called } = part;
  const member = MEMBERS.find((each) => part[each]);
  const inner = isRecord(called) ? called : part[member ?? ''];
  const tool = textOf(name) ?? (isRecord(inner) ? textOf(inner['name']) : undefined);
  return [textOf(type) ?? member ?? 'part', ...(tool === undefined ? [] : [tool])].join(' ');
}

function toolNames({ tools, toolConfig }: JsonRecord): readonly string[] {
  const all = isRecord(toolConfig) && toolConfig['tools'] !== undefined ? toolConfig['tools'] : tools;
  return records(all).flatMap((tool) => {
    const { name, type, function: defined, functionDeclarations: declared, toolSpec } = tool;
    if (isRecord(toolSpec)) return [stringOf(toolSpec['name'])];
    if (declared !== undefined) return records(declared).map((each) => stringOf(each['name']));
    return [textOf(name) ?? (isRecord(defined) ? stringOf(defined['name']) : stringOf(type))];
  });
}

function eventsOf(body: Buffer): readonly JsonRecord[] {
  const framer = new SseFramer(1024 * 1024);
  framer.append(body);
  const events: JsonRecord[] = [];
  for (let event = framer.next() ?? framer.end(); event; event = framer.next())
    if (event.data !== undefined) events.push(event.data === '[DONE]' ? { type: '[DONE]' } : parse(event.data));
  return events;
}

/** Events have a type, except those of chat completions and of Google, which are told by their content. */
function eventName(event: JsonRecord): string {
  const type = textOf(event['type']);
  if (type !== undefined) return [type, ...stopOf(event['delta'])].join(' ');
  return partsOf(event).join(', ');
}

/** The parts of a whole answer, or of a chunk, with the reason why it has stopped. */
function partsOf(answer: JsonRecord): readonly string[] {
  const { choices, content, output, candidates, error } = answer;
  if (error !== undefined && error !== null) return ['error'];
  const parts = [
    ...records(choices).flatMap((choice) => [...messageKinds(choice['message'] ?? choice['delta']), ...stopOf(choice)]),
    ...records(content).map(kindOf),
    ...records(output).map(kindOf),
    ...records(candidates).flatMap((candidate) => [
      ...(isRecord(candidate['content']) ? records(candidate['content']['parts']).map(kindOf) : []),
      ...stopOf(candidate),
    ]),
    ...stopOf(answer),
  ];
  return parts.length > 0 ? parts : ['usage'];
}

function messageKinds(message: unknown): readonly string[] {
  if (!isRecord(message)) return [];
  return [
    ...(textOf(message['content']) === undefined ? [] : ['text']),
    ...records(message['tool_calls']).map(({ function: called }) => {
      const name = isRecord(called) ? textOf(called['name']) : undefined;
      return name === undefined ? 'arguments' : `tool_call ${name}`;
    }),
    ...(textOf(message['reasoning_content']) === undefined ? [] : ['reasoning']),
  ];
}

function stopOf(value: unknown): readonly string[] {
  if (!isRecord(value)) return [];
  const reason = ['stop_reason', 'finish_reason', 'finishReason', 'status']
    .map((name) => textOf(value[name]))
    .find((text) => text !== undefined);
  return reason === undefined ? [] : [`(${reason})`];
}

function records(value: unknown): readonly JsonRecord[] {
  return itemsOf(value).filter(isRecord);
}

function withoutRepeats(texts: readonly string[]): readonly string[] {
  return texts.filter((text, index) => text !== texts[index - 1]);
}

function parse(text: Buffer | string): JsonRecord {
  try {
    const value: unknown = JSON.parse(text.toString());
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
