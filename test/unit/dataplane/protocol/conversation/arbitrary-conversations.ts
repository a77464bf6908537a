/**
 * Conversations that no provider needs to repair: turns alternate from the user's to the user's, the results of calls
 * come first in the turn after them, and ids and names are legal everywhere.
 */
import fc from 'fast-check';
import type {
  AssistantPart,
  CacheMark,
  ContentPart,
  Conversation,
  Located,
  MediaSource,
  ResponseFormat,
  SettingName,
  Settings,
  Tool,
  ToolCallPart,
  ToolChoice,
  Turn,
  UserPart,
} from '../../../../../dataplane/protocol/conversation/request.ts';
import type { JsonRecord } from '../../../../../dataplane/protocol/fields.ts';

/** What a conversation may hold. */
export interface Vocabulary {
  readonly settings: ReadonlySet<SettingName>;
  /** Kinds of parts. */
  readonly parts: ReadonlySet<string>;
  /** Images may be at an address. */
  readonly addresses: boolean;
}

const path = 'somewhere';

const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
/** A text with words, without white space at its ends. */
export const said = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text.trim() === text && text !== '');
const word = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '_', '-'), minLength: 1, maxLength: 12 });
const name = word.map((text) => `t${text}`);
/** Not all providers take these letters, and one prefix is the gateway's own. */
export const callId = fc.oneof(word, fc.constantFrom('functions.weather:0', 'call 1', 'é', 'mgw_', 'mgw_YQ'));
/** JSON has no negative zero. */
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
export const callArguments: fc.Arbitrary<JsonRecord> = fc.dictionary(
  fc.string({ maxLength: 6 }).filter((key) => key !== '__proto__'),
  json,
  { maxKeys: 3, noNullPrototype: true },
);
export const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const url = (ending: string): fc.Arbitrary<string> => word.map((text) => `https://example.com/${text}.${ending}`);

/** One that every strict mode takes. */
const schema: fc.Arbitrary<JsonRecord> = fc
  .dictionary(name, fc.constantFrom({ type: 'string' }, { type: ['number', 'null'] }), {
    maxKeys: 3,
    noNullPrototype: true,
  })
  .map((properties) => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }));

const data = (mediaType: string): fc.Arbitrary<Extract<MediaSource, { readonly type: 'Data' }>> =>
  base64.map((text) => ({ type: 'Data', mediaType, data: text }));

const dataImage = data('image/png').map((source): ContentPart => ({ type: 'Image', source, path }));
const addressedImage = url('png').map((address): ContentPart => ({
  type: 'Image',
  source: { type: 'Url', url: address },
  path,
}));

const CONTENT: Readonly<Record<ContentPart['type'], fc.Arbitrary<ContentPart>>> = {
  Text: said.map((text) => ({ type: 'Text', text, path })),
  Image: fc.oneof(dataImage, addressedImage),
  Audio: data('audio/wav').map((source) => ({ type: 'Audio', source, path })),
  Video: data('video/mp4').map((source) => ({ type: 'Video', source, path })),
  Document: fc.record({ source: data('application/pdf'), title: said }).map(({ source, title }) => ({
    type: 'Document',
    source,
    title: `${title}.pdf`,
    path,
  })),
  SearchResult: fc
    .record({ title: said, source: url('html'), texts: fc.array(said, { minLength: 1, maxLength: 2 }) })
    .map((found) => ({ type: 'SearchResult', ...found, path })),
};

function content({ parts, addresses }: Vocabulary): fc.Arbitrary<ContentPart> {
  const kinds = addresses ? CONTENT : { ...CONTENT, Image: dataImage };
  const types = Object.keys(CONTENT) as ContentPart['type'][];
  return fc.oneof(...types.filter((type) => parts.has(type)).map((type) => kinds[type]));
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: ToolCallPart['arguments'];
  readonly result: readonly ContentPart[];
  readonly isError: boolean;
}

interface Round {
  readonly instruction: string | undefined;
  readonly user: readonly ContentPart[];
  readonly text: string | undefined;
  readonly calls: readonly Call[];
}

function rounds(vocabulary: Vocabulary): fc.Arbitrary<Round[]> {
  const image = optional(vocabulary.addresses ? CONTENT.Image : dataImage);
  const call = fc.record({
    id: callId,
    name,
    arguments: callArguments.chain((value) => fc.constantFrom({ value }, { text: JSON.stringify(value) })),
    result: fc.tuple(CONTENT.Text, image).map((parts) => parts.filter((part) => part !== undefined)),
    isError: fc.boolean(),
  });
  const round = fc.record({
    instruction: fc.option(said, { nil: undefined, freq: 4 }),
    user: fc.array(content(vocabulary), { minLength: 1, maxLength: 3 }),
    text: optional(said),
    calls: fc.array(call, { maxLength: 3 }),
  });
  return fc
    .array(
      round.filter(({ text, calls }) => text !== undefined || calls.length > 0),
      { maxLength: 3 },
    )
    .map((all) =>
      all.map((each, at) => ({
        ...each,
        calls: each.calls.map((given, index) => ({ ...given, id: `${given.id}_${at}x${index}` })),
      })),
    );
}

const system = (text: string | undefined): readonly Turn[] =>
  text === undefined ? [] : [{ role: 'System', parts: [{ type: 'Text', text, path }], path }];

function turnsOf(prompt: string | undefined, all: readonly Round[], last: readonly ContentPart[]): readonly Turn[] {
  const turns: Turn[] = [...system(prompt)];
  let results: readonly UserPart[] = [];
  for (const { instruction, user, text, calls } of all) {
    turns.push({ role: 'User', parts: [...results, ...user], path }, ...system(instruction));
    const words: readonly AssistantPart[] = text === undefined ? [] : [{ type: 'Text', text, path }];
    const called = calls.map(({ id, name: tool, arguments: given }): AssistantPart => ({
      type: 'ToolCall',
      id,
      name: tool,
      arguments: given,
      path,
    }));
    turns.push({ role: 'Assistant', parts: [...words, ...called], path });
    results = calls.map(({ id, result, isError }) => ({
      type: 'ToolResult',
      callId: id,
      isError,
      parts: result,
      path,
    }));
  }
  return [...turns, { role: 'User', parts: [...results, ...last], path }];
}

/** The client asks to cache up to the end. */
function markLast(parts: readonly ContentPart[]): readonly ContentPart[] {
  return parts.map((part, at) => (at === parts.length - 1 ? { ...part, cache: { ttl: '1h' } } : part));
}

const tool: fc.Arbitrary<Tool> = fc
  .record({ name, description: optional(said), schema, strict: optional(fc.boolean()) })
  .map(({ strict, ...given }) => ({
    ...given,
    strict: strict === undefined ? undefined : { value: strict, path },
    examples: [],
    cache: undefined,
    takesText: false,
    path,
  }));

const setting = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Located<Value> | undefined> =>
  optional(value.map((given) => ({ value: given, path })));

const format: fc.Arbitrary<ResponseFormat> = schema.map((given) => ({
  type: 'Schema',
  schema: given,
  name: 'shape',
  description: undefined,
  strict: true,
}));

type Reasons = Pick<Settings, 'effort' | 'reasoning'>;

/** A model reasons by effort, by budget, or not at all. */
const reasons: fc.Arbitrary<Reasons> = fc.oneof(
  fc.constant({}),
  fc.constantFrom('low', 'medium', 'high').map((effort): Reasons => ({
    effort: { value: effort, path },
    reasoning: { value: { mode: 'Adaptive', budgetTokens: undefined, display: undefined }, path },
  })),
  fc.integer({ min: 1024, max: 24_000 }).map((budgetTokens): Reasons => ({
    reasoning: { value: { mode: 'Enabled', budgetTokens, display: undefined }, path },
  })),
);

const penalty = fc.constantFrom(-1.5, 0.5, 2);
const SETTINGS: { readonly [Name in Exclude<SettingName, keyof Reasons>]: fc.Arbitrary<Settings[Name]> } = {
  maxOutputTokens: fc.integer({ min: 50_000, max: 90_000 }).map((value) => ({ value, path })),
  temperature: setting(fc.constantFrom(0, 0.25, 0.7)),
  topP: setting(fc.constantFrom(0.95, 0.99)),
  topK: setting(fc.integer({ min: 1, max: 40 })),
  seed: setting(fc.nat()),
  frequencyPenalty: setting(penalty),
  presencePenalty: setting(penalty),
  stop: setting(fc.array(said, { minLength: 1, maxLength: 4 })),
  candidates: setting(fc.integer({ min: 2, max: 4 })),
  modalities: setting(fc.constant(['text', 'image'])),
  imageConfig: setting(fc.constantFrom({ shape: '16:9', resolution: '1K' }, { shape: '1:1', resolution: '1K' })),
  logProbabilities: setting(fc.nat(5)),
  verbosity: setting(fc.constantFrom('low', 'high')),
  responseFormat: setting(format),
  toolChoice: fc.constant(undefined),
  parallelToolCalls: setting(fc.constant(false)),
  user: setting(name),
  promptCacheKey: setting(name),
  cache: setting(fc.constantFrom<CacheMark>({ ttl: undefined }, { ttl: '1h' })),
  serviceTier: setting(fc.constant('standard')),
};

const settings: fc.Arbitrary<Settings> = fc
  .record(SETTINGS)
  .chain((given) => reasons.map((more) => ({ ...given, ...more })));

/** A choice needs tools. */
function choice(tools: readonly Tool[]): fc.Arbitrary<Settings> {
  const [first] = tools;
  if (!first) return fc.constant({ parallelToolCalls: undefined });
  return fc
    .constantFrom<ToolChoice | undefined>(
      undefined,
      { mode: 'None', names: undefined },
      { mode: 'Required', names: undefined },
      { mode: 'Required', names: [first.name] },
    )
    .map((value) => ({
      toolChoice: value && { value, path },
      // calls that there are none of cannot be parallel
      ...(value?.mode === 'None' && { parallelToolCalls: undefined }),
    }));
}

export function conversations(vocabulary: Vocabulary): fc.Arbitrary<Conversation> {
  const { settings: names } = vocabulary;
  return fc
    .record({
      prompt: optional(said),
      all: rounds(vocabulary),
      last: fc.array(content(vocabulary), { minLength: 1, maxLength: 3 }),
      more: fc.uniqueArray(tool, { selector: (each) => each.name, maxLength: 3 }),
      given: settings,
    })
    .chain(({ prompt, all, last, more, given }) => {
      const called = all.flatMap(({ calls }) => calls.map((call) => call.name));
      const tools = [...more, ...toolsNamed(called, more)];
      return choice(tools).map((chosen) => ({
        turns: turnsOf(prompt, all, vocabulary.parts.has('cache mark') ? markLast(last) : last),
        tools,
        settings: only({ ...given, ...chosen }, names),
        unread: [],
      }));
    });
}

/** A conversation with calls declares their tools. */
function toolsNamed(called: readonly string[], declared: readonly Tool[]): readonly Tool[] {
  const missing = new Set(called.filter((each) => declared.every((known) => known.name !== each)));
  return [...missing].map((each) => ({
    name: each,
    description: undefined,
    schema: { type: 'object', properties: {} },
    strict: undefined,
    examples: [],
    cache: undefined,
    takesText: false,
    path,
  }));
}

/** Each has its name as its path. */
function only(given: Settings, names: ReadonlySet<SettingName>): Settings {
  const kept = Object.entries(given).filter(([each, value]) => value !== undefined && names.has(each as SettingName));
  return Object.fromEntries(kept.map(([each, located]) => [each, { ...located, path: each }]));
}
