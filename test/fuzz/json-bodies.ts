/** Bodies of calls for the fuzzer of JSON: what clients send, with fields that are missing, odd or of another type. */
import fc from 'fast-check';
import { CHEAP_SIZE } from './scene.ts';

export const PATHS = [
  '/v1/chat/completions',
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/completions',
  '/v1/embeddings',
  '/v1beta/models/embed-model:embedContent',
  '/v1beta/models/embed-model:batchEmbedContents',
  '/v1/moderations',
  '/v1/rerank',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/videos',
  '/v1/audio/speech',
  '/v1/responses',
  '/v1/responses',
] as const;
const MODELS = [
  'gpt-model',
  'claude-model',
  'text-model',
  'tools-model',
  'renamed-model',
  'old-field-model',
  'embed-model',
  'image-model',
  'sized-model',
  'sketch-model',
  'video-model',
  'film-model',
  'speech-model',
  'nobody',
  '__proto__',
  'constructor',
  '',
  'gpt-model ',
];

const edgeNumber = fc.constantFrom(
  0,
  -0,
  1,
  -1,
  2,
  16,
  255,
  256,
  257,
  4000,
  4001,
  100_000,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e21,
  1e308,
  -1e308,
  0.5,
  1.000_000_1,
  5e-324,
);
const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '\0',
    '\ud800',
    '\udc00x',
    '\u2028',
    '\ufeff',
    '\u202e',
    'é',
    '😀'.repeat(20),
    'data:image/png;base64,AAAA',
    'data:,',
    'http://x/y.png',
    '__proto__',
    '{"a":1}',
    'x'.repeat(5000),
  ),
);
const weird: fc.Arbitrary<unknown> = fc.oneof(
  edgeNumber,
  oddText,
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
  fc.anything({
    maxDepth: 3,
    maxKeys: 4,
    withNullPrototype: false,
    key: oddText,
    values: [edgeNumber, oddText, fc.constant(null)],
  }),
);

/** Mostly what the field takes. */
function mostly(likely: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 60, arbitrary: likely }, { weight: 1, arbitrary: weird });
}

/** There, at these odds to one, or left out. */
function sometimes(odds: number, field: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: Math.round(odds * 100), arbitrary: field },
    { weight: 100, arbitrary: fc.constant(undefined) },
  );
}

/** An object with any of these fields, the required ones mostly there, and now and then one that nobody knows. */
function shape(fields: Record<string, fc.Arbitrary<unknown>>, needed: readonly string[] = []): fc.Arbitrary<unknown> {
  const record = fc.record(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [
        name,
        needed.includes(name) ? sometimes(30, mostly(field)) : sometimes(field === weird ? 0.05 : 0.4, mostly(field)),
      ]),
    ),
  );
  return fc
    .tuple(record, fc.option(fc.tuple(oddText, weird), { freq: 30 }))
    .map(([object, more]) => (more === null ? object : { ...object, [more[0]]: more[1] }));
}

const schema = shape({
  type: fc.constantFrom('object', 'string', 'array'),
  properties: fc.dictionary(oddText, weird, { maxKeys: 3 }),
  required: fc.array(oddText, { maxLength: 2 }),
  description: oddText,
});
const data = fc.constantFrom('iVBORw0KGgo=', '', 'not base64!', 'A'.repeat(8000));
const openaiPart = fc.oneof(
  shape({ type: fc.constant('text'), text: oddText }, ['type', 'text']),
  shape(
    {
      type: fc.constant('image_url'),
      image_url: shape(
        {
          url: fc.oneof(
            data.map((each) => `data:image/png;base64,${each}`),
            oddText,
          ),
          detail: fc.constantFrom('low', 'high', 'auto'),
        },
        ['url'],
      ),
    },
    ['type', 'image_url'],
  ),
  shape(
    {
      type: fc.constantFrom('input_audio', 'file', 'refusal', 'video', 'thinking'),
      input_audio: weird,
      file: weird,
      refusal: oddText,
    },
    ['type'],
  ),
);
const call = shape(
  {
    id: oddText,
    type: fc.constant('function'),
    function: shape({ name: oddText, arguments: fc.oneof(oddText, fc.json()) }, ['name', 'arguments']),
  },
  ['id', 'type', 'function'],
);
const openaiMessage = shape(
  {
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function'),
    content: fc.oneof(oddText, fc.array(openaiPart, { maxLength: 4 })),
    name: oddText,
    tool_calls: fc.array(call, { maxLength: 2 }),
    tool_call_id: oddText,
    refusal: oddText,
  },
  ['role', 'content'],
);
const anthropicBlock: fc.Arbitrary<unknown> = fc.oneof(
  shape(
    {
      type: fc.constant('text'),
      text: oddText,
      cache_control: shape({ type: fc.constant('ephemeral'), ttl: fc.constantFrom('5m', '1h') }),
    },
    ['type', 'text'],
  ),
  shape(
    {
      type: fc.constant('image'),
      source: shape(
        {
          type: fc.constantFrom('base64', 'url', 'file'),
          media_type: fc.constant('image/png'),
          data,
          url: oddText,
          file_id: oddText,
        },
        ['type'],
      ),
    },
    ['type', 'source'],
  ),
  shape({ type: fc.constant('tool_use'), id: oddText, name: oddText, input: weird }, ['type', 'id', 'name', 'input']),
  shape(
    {
      type: fc.constant('tool_result'),
      tool_use_id: oddText,
      content: fc.oneof(oddText, fc.array(shape({ type: fc.constant('text'), text: oddText }), { maxLength: 2 })),
      is_error: fc.boolean(),
    },
    ['type', 'tool_use_id'],
  ),
  shape(
    {
      type: fc.constantFrom('thinking', 'redacted_thinking', 'document', 'search_result', 'server_tool_use'),
      thinking: oddText,
      signature: oddText,
      data: oddText,
      source: weird,
    },
    ['type'],
  ),
);
const responsePart = fc.oneof(
  shape({ type: fc.constantFrom('input_text', 'output_text'), text: oddText }, ['type', 'text']),
  shape(
    {
      type: fc.constant('input_image'),
      image_url: fc.oneof(
        data.map((each) => `data:image/png;base64,${each}`),
        oddText,
      ),
      file_id: weird,
    },
    ['type', 'image_url'],
  ),
  shape(
    {
      type: fc.constantFrom('input_file', 'input_audio', 'refusal', 'computer_screenshot'),
      file_data: oddText,
      image_url: oddText,
      refusal: oddText,
    },
    ['type'],
  ),
);
const responseItem: fc.Arbitrary<unknown> = fc.oneof(
  shape(
    {
      role: fc.constantFrom('user', 'assistant', 'system', 'developer'),
      content: fc.oneof(oddText, fc.array(responsePart, { maxLength: 4 })),
      type: fc.constant('message'),
    },
    ['role', 'content'],
  ),
  shape(
    {
      type: fc.constantFrom('function_call_output', 'custom_tool_call_output'),
      call_id: oddText,
      output: fc.oneof(oddText, fc.array(responsePart, { maxLength: 2 })),
    },
    ['type', 'output'],
  ),
  shape(
    {
      type: fc.constantFrom(
        'function_call',
        'reasoning',
        'computer_call_output',
        'item_reference',
        'image_generation_call',
        'mcp_call',
        'additional_tools',
      ),
      id: oddText,
      name: oddText,
      arguments: oddText,
      output: weird,
      result: oddText,
      tools: weird,
    },
    ['type'],
  ),
);
const shared = {
  stream: fc.boolean(),
  temperature: edgeNumber,
  top_p: edgeNumber,
  metadata: weird,
  user: oddText,
  service_tier: oddText,
  stop: weird,
};
const limit = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 5000 }) },
  { weight: 1, arbitrary: edgeNumber },
);
const model = (...likely: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...likely) }, { weight: 1, arbitrary: fc.constantFrom(...MODELS) });
const CHAT_MODELS = ['gpt-model', 'text-model', 'claude-model', 'tools-model', 'tools-model', 'old-field-model'];
/** Bodies for each path: mostly plausible, with fields of any type. */
/** Mostly a text, in either spelling of its names. */
const embedded = shape(
  {
    ...shared,
    content: shape(
      {
        role: oddText,
        parts: fc.array(
          fc.oneof(
            { weight: 9, arbitrary: shape({ text: oddText }, ['text']) },
            { weight: 1, arbitrary: shape({ inline_data: weird, fileData: weird, functionCall: weird }) },
          ),
          { minLength: 1, maxLength: 4 },
        ),
      },
      ['parts'],
    ),
    output_dimensionality: edgeNumber,
    taskType: oddText,
    embedContentConfig: shape({ outputDimensionality: edgeNumber, auto_truncate: fc.boolean() }),
  },
  ['content'],
);

export const BODIES: Readonly<Record<(typeof PATHS)[number], fc.Arbitrary<unknown>>> = {
  '/v1/chat/completions': shape(
    {
      ...shared,
      model: model(...CHAT_MODELS),
      messages: fc.array(openaiMessage, { minLength: 1, maxLength: 4 }),
      max_tokens: limit,
      max_completion_tokens: limit,
      n: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 1, arbitrary: edgeNumber }),
      stream_options: shape({ include_usage: fc.boolean() }),
      tools: fc.array(
        shape(
          {
            type: fc.constant('function'),
            function: shape({ name: oddText, description: oddText, parameters: schema }, ['name']),
          },
          ['type', 'function'],
        ),
        { maxLength: 3 },
      ),
      tool_choice: weird,
      functions: weird,
      response_format: shape({
        type: fc.constantFrom('text', 'json_object', 'json_schema'),
        json_schema: shape({ name: oddText, schema }),
      }),
      prediction: shape({ type: fc.constant('content'), content: oddText }),
      modalities: weird,
      audio: weird,
      reasoning_effort: oddText,
      logit_bias: weird,
      seed: edgeNumber,
    },
    ['model', 'messages'],
  ),
  '/v1/messages': messagesBody(),
  '/v1/messages/count_tokens': messagesBody(),
  '/v1/completions': shape(
    {
      ...shared,
      model: model(...CHAT_MODELS),
      prompt: fc.oneof(
        oddText,
        fc.array(oddText, { maxLength: 4 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
        fc.array(fc.array(fc.nat(), { maxLength: 5 }), { maxLength: 4 }),
        weird,
      ),
      max_tokens: limit,
      n: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 4 }) }, { weight: 1, arbitrary: edgeNumber }),
      best_of: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 4 }) }, { weight: 1, arbitrary: edgeNumber }),
      echo: fc.boolean(),
      suffix: oddText,
      logprobs: edgeNumber,
      stream_options: shape({ include_usage: fc.boolean() }),
    },
    ['model', 'prompt'],
  ),
  '/v1/embeddings': shape(
    {
      ...shared,
      model: model('embed-model'),
      input: fc.oneof(
        oddText,
        fc.array(oddText, { maxLength: 5 }),
        fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 50 }),
        fc.array(fc.array(fc.nat(), { maxLength: 5 }), { maxLength: 5 }),
      ),
      dimensions: edgeNumber,
      encoding_format: oddText,
    },
    ['model', 'input'],
  ),
  '/v1beta/models/embed-model:embedContent': embedded,
  '/v1beta/models/embed-model:batchEmbedContents': shape(
    { requests: fc.array(embedded, { minLength: 1, maxLength: 4 }) },
    ['requests'],
  ),
  '/v1/moderations': shape(
    {
      ...shared,
      model: model('embed-model'),
      input: fc.oneof(
        oddText,
        fc.array(oddText, { maxLength: 5 }),
        fc.array(
          fc.oneof(
            shape({ type: fc.constant('text'), text: oddText }, ['type', 'text']),
            shape({ type: fc.constant('image_url'), image_url: shape({ url: oddText }, ['url']) }, [
              'type',
              'image_url',
            ]),
            weird,
          ),
          { minLength: 1, maxLength: 4 },
        ),
      ),
    },
    ['model', 'input'],
  ),
  '/v1/rerank': shape(
    {
      ...shared,
      model: model('embed-model'),
      query: fc.oneof(oddText, weird),
      documents: fc.array(fc.oneof(oddText, shape({ text: oddText, title: oddText }, ['text']), weird), {
        minLength: 1,
        maxLength: 6,
      }),
      top_n: edgeNumber,
      top_k: edgeNumber,
      return_documents: fc.boolean(),
    },
    ['model', 'query', 'documents'],
  ),
  '/v1/images/generations': shape(
    {
      ...shared,
      model: model('image-model', 'sized-model'),
      prompt: oddText,
      n: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 10 }) }, { weight: 1, arbitrary: edgeNumber }),
      size: fc.oneof(fc.constantFrom(CHEAP_SIZE, CHEAP_SIZE, 'auto', '4096x4096'), oddText),
      partial_images: edgeNumber,
    },
    ['model', 'prompt'],
  ),
  '/v1/images/edits': shape(
    {
      ...shared,
      model: model('sketch-model'),
      prompt: oddText,
      images: fc.array(shape({ image_url: oddText, file_id: oddText }, []), { maxLength: 3 }),
      mask: weird,
      n: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 10 }) }, { weight: 1, arbitrary: edgeNumber }),
      size: fc.oneof(fc.constantFrom(CHEAP_SIZE, CHEAP_SIZE, 'auto', '4096x4096'), oddText),
    },
    ['model', 'prompt', 'images'],
  ),
  '/v1/videos': shape(
    {
      ...shared,
      model: model('video-model', 'film-model', 'film-model'),
      prompt: oddText,
      n: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 10 }) }, { weight: 1, arbitrary: edgeNumber }),
      seconds: fc.oneof(fc.constantFrom('4', '8', 4, '2.5'), oddText),
      input_reference: weird,
    },
    ['model', 'prompt'],
  ),
  '/v1/audio/speech': shape(
    {
      ...shared,
      model: model('speech-model'),
      input: oddText,
      instructions: oddText,
      voice: fc.oneof(fc.constant('alloy'), weird),
      response_format: oddText,
      stream_format: fc.constantFrom('sse', 'sse', 'audio', 'SSE'),
    },
    ['model', 'input', 'stream_format'],
  ),
  '/v1/responses': shape(
    {
      ...shared,
      model: model(...CHAT_MODELS),
      input: fc.oneof(oddText, fc.array(responseItem, { minLength: 1, maxLength: 4 })),
      instructions: oddText,
      max_output_tokens: limit,
      tools: fc.array(
        shape(
          {
            type: fc.constantFrom('function', 'function', 'custom', 'web_search', 'shell', 'namespace'),
            name: oddText,
            parameters: schema,
            tools: weird,
          },
          ['type', 'name'],
        ),
        { maxLength: 3 },
      ),
      text: shape({
        format: shape({
          type: fc.constantFrom('text', 'json_schema'),
          name: oddText,
          schema,
        }),
      }),
      previous_response_id: weird,
      store: fc.boolean(),
      background: weird,
      reasoning: weird,
      include: weird,
      truncation: oddText,
      prompt: weird,
    },
    ['model', 'input'],
  ),
};

function messagesBody(): fc.Arbitrary<unknown> {
  return shape(
    {
      ...shared,
      model: model(...CHAT_MODELS),
      messages: fc.array(
        shape(
          {
            role: fc.constantFrom('user', 'user', 'assistant', 'system'),
            content: fc.oneof(oddText, fc.array(anthropicBlock, { maxLength: 4 })),
          },
          ['role', 'content'],
        ),
        { minLength: 1, maxLength: 4 },
      ),
      max_tokens: limit,
      system: fc.oneof(oddText, fc.array(anthropicBlock, { maxLength: 2 })),
      tools: fc.array(
        shape(
          {
            name: oddText,
            description: oddText,
            input_schema: schema,
            type: fc.constantFrom('custom', 'web_search_20250305', 'bash_20250124'),
          },
          ['name', 'input_schema'],
        ),
        { maxLength: 3 },
      ),
      tool_choice: weird,
      thinking: shape({
        type: fc.constantFrom('enabled', 'disabled', 'adaptive'),
        budget_tokens: limit,
      }),
      stop_sequences: weird,
      top_k: edgeNumber,
      container: weird,
      mcp_servers: weird,
      context_management: weird,
    },
    ['model', 'messages', 'max_tokens'],
  );
}
