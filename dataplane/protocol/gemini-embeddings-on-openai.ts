/** Embeddings of texts: Google client, OpenAI provider, which takes several texts in one call. */
import type { Converter, UpstreamBody } from './converter.ts';
import { DroppedFields } from './dropped-fields.ts';
import { converted, dropped, objectTable, omitted, readFields, refused } from './field-table.ts';
import type { ConvertedFields, UnreadField } from './field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { canonicalNames } from './gemini/names.ts';
import { writeJson } from './json-value.ts';
import { EMBEDDINGS } from './openai/embeddings.ts';
import { readInputOnly } from './openai/input-only.ts';
import { malformed, unsupported } from './unsupported.ts';

const NAME = 'OpenAI';
const NO_TASK = omitted('there are no tasks', ['TASK_TYPE_UNSPECIFIED']);

export const REQUEST = objectTable('Request', {
  content: converted('a text of `input`'),
  outputDimensionality: converted('`dimensions`, which all of a batch share'),
  embedContentConfig: converted('the same settings'),
  model: dropped('the path has it'),
  taskType: NO_TASK,
  title: refused('there are no titles: send it as part of the text'),
});

const CONFIG = objectTable('`embedContentConfig`', {
  outputDimensionality: converted('`dimensions`'),
  taskType: NO_TASK,
  autoTruncate: dropped('the provider decides'),
});

type EmbedRequest = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

export const embedContentOnOpenai = embedding(
  (request) => [readOne(request, '')],
  ([values = []], usage) => ({ embedding: { values }, usageMetadata: usage }),
);

export const batchEmbedOnOpenai = embedding(
  (request) => readRecords(request['requests'], 'requests').map((each, index) => readOne(each, `requests[${index}].`)),
  (vectors, usage) => ({ embeddings: vectors.map((values) => ({ values })), usageMetadata: usage }),
);

/** One request of a batch, or the only one. */
interface One {
  readonly text: string;
  readonly dimensions: unknown;
  /** Of the request's fields: `requests[0].`, or nothing. */
  readonly prefix: string;
  readonly unread: readonly UnreadField[];
}

type Vector = readonly unknown[];

function embedding(
  read: (request: JsonRecord) => readonly One[],
  write: (vectors: readonly Vector[], usage: JsonRecord) => JsonRecord,
): Converter {
  return {
    client: 'Gemini',
    upstream: NAME,
    request: (_body, parsed, { upstreamModel }) => writeRequest(read(canonicalNames(parsed)), upstreamModel),
    response: (body, answer) => {
      const { response, meter } = readInputOnly(EMBEDDINGS, body);
      const vectors = itemsOf(response['data']).map((each) => itemsOf(isRecord(each) ? each['embedding'] : undefined));
      const { input = answer?.estimatedInputTokens ?? 0, cached = 0 } = meter.reported;
      return { body: Buffer.from(writeJson(write(vectors, { promptTokenCount: input + cached }))), meter };
    },
    stream: () => {
      throw new Error('embeddings are not streamed');
    },
  };
}

function writeRequest(requests: readonly One[], model: string): UpstreamBody {
  const left = new DroppedFields();
  for (const { path, handling, why } of requests.flatMap(({ unread }) => unread))
    if (handling === 'Refused') throw unsupported(path, NAME, why);
    else left.add(path);
  const [first] = requests;
  const other = requests.find(({ dimensions }) => dimensions !== first?.dimensions);
  if (other) throw unsupported(`${other.prefix}outputDimensionality`, NAME, 'all vectors of a call have one length');
  const body = {
    model,
    input: requests.map(({ text }) => text),
    dimensions: first?.dimensions ?? undefined,
    encoding_format: 'float',
  };
  return { path: '/embeddings', body: Buffer.from(writeJson(body)), dropped: left.params };
}

function readOne(given: JsonRecord, prefix: string): One {
  const unread: UnreadField[] = [];
  const place = (param: string): string => `${prefix}${param}`;
  const request = readFields(REQUEST, given, { param: prefix.replace(/\.$/, ''), unread });
  return { text: textIn(request, place('content')), dimensions: dimensionsIn(request, place, unread), prefix, unread };
}

function textIn({ content }: EmbedRequest, path: string): string {
  const parts = readRecords(isRecord(content) ? content['parts'] : undefined, `${path}.parts`);
  const other = parts.findIndex((part) => Object.keys(part).some((name) => name !== 'text' && isGiven(part[name])));
  if (other >= 0) throw unsupported(`${path}.parts[${other}]`, NAME, 'only texts have embeddings');
  return parts.map(({ text }) => stringOf(text)).join('');
}

function dimensionsIn(request: EmbedRequest, place: (param: string) => string, unread: UnreadField[]): unknown {
  const { embedContentConfig: config, outputDimensionality: given } = request;
  if (isGiven(config) && !isRecord(config)) throw malformed(place('embedContentConfig'), 'an object');
  const within = isRecord(config)
    ? readFields(CONFIG, config, { param: place('embedContentConfig'), unread }).outputDimensionality
    : undefined;
  const dimensions = given ?? within;
  if (isGiven(dimensions) && typeof dimensions !== 'number') throw malformed(place('outputDimensionality'), 'a number');
  return dimensions ?? undefined;
}
