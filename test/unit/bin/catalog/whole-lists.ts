/**
 * Public price lists as a whole, in their shapes and sizes. The figures are made up: model number k of a template has
 * the price k, and the template says what a catalog must state for it.
 */

/** Raw JSON texts by field, so that each number is written as the list would write it. */
type Fields = Readonly<Record<string, string>>;

export interface Template {
  readonly name: string;
  /** `n`: an even number of thousandths of a dollar per million tokens. */
  readonly fields: (n: number) => Fields;
  /** The catalog's entry without name and vendor; undefined: the model cannot be imported. */
  readonly entry: ((n: number) => Readonly<Record<string, unknown>>) | undefined;
  /** Fields that are refused by name, once for each model. */
  readonly refused: readonly string[];
}

export const MODELS_PER_TEMPLATE = 25;

/** Thousandths of a dollar as a catalog writes them. */
export function usd(thousandths: number, places = 3): string {
  const digits = String(thousandths).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return `${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** n · 10^-places in one of the notations that the lists mix. */
export function numberText(n: number, places: number): string {
  if (n % 3 === 0) return `${n}e-${String(places).padStart(2, '0')}`;
  return n % 3 === 1 ? usd(n, places) : `${usd(n, 3)}E-${places - 3}`;
}

/** The models of a template: keys, price numbers and fields. */
export function modelsOf({ name, fields }: Template): { key: string; n: number; fields: Fields }[] {
  return Array.from({ length: MODELS_PER_TEMPLATE }, (_, index) => {
    const n = (index + 1) * 20;
    return { key: `${name}-${index}`, n, fields: fields(n) };
  });
}

export function jsonOf(fields: Fields): string {
  return `{${Object.entries(fields)
    .map(([field, text]) => `${JSON.stringify(field)}: ${text}`)
    .join(', ')}}`;
}

const text = (value: string): string => JSON.stringify(value);

// LiteLLM: dollars per token
const perToken = (n: number): string => numberText(n, 9);
const tokens = (n: number, suffix = ''): Fields => ({
  [`input_cost_per_token${suffix}`]: perToken(n),
  [`output_cost_per_token${suffix}`]: perToken(4 * n),
  [`cache_read_input_token_cost${suffix}`]: perToken(n / 10),
});
const rates = (n: number): Record<string, string> => ({ input: usd(n), output: usd(4 * n), cacheRead: usd(n / 10) });
const chat: Fields = { mode: text('chat'), litellm_provider: text('acme'), max_input_tokens: '200000' };
const mode = (name: string): Fields => ({ ...chat, mode: text(name) });
const token = (n: number, more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => ({
  quotaType: 'Token',
  usdPerMillion: rates(n),
  ...more,
});

export const LITELLM: readonly Template[] = [
  { name: 'plain', fields: (n) => ({ ...chat, ...tokens(n), supports_vision: 'true' }), entry: token, refused: [] },
  {
    name: 'azure/eu/tiers',
    refused: [],
    fields: (n) => ({
      ...chat,
      ...tokens(n),
      ...tokens(2 * n, '_above_200k_tokens'),
      ...tokens(2 * n, '_priority'),
      ...tokens(4 * n, '_above_200k_tokens_priority'),
      ...tokens(n / 2, '_flex'),
      ...tokens(n / 2, '_batches'),
    }),
    entry: (n) =>
      token(n, {
        contextTiers: [{ above: 200_000, usdPerMillion: rates(2 * n) }],
        serviceTiers: { priority: { multiplier: '2' }, flex: { multiplier: '0.5' }, batch: { multiplier: '0.5' } },
      }),
  },
  {
    name: 'two-steps',
    refused: [],
    fields: (n) => ({
      ...chat,
      ...tokens(n),
      ...tokens(2 * n, '_above_128k_tokens'),
      ...tokens(3 * n, '_above_272k_tokens'),
    }),
    entry: (n) =>
      token(n, {
        contextTiers: [
          { above: 128_000, usdPerMillion: rates(2 * n) },
          { above: 272_000, usdPerMillion: rates(3 * n) },
        ],
      }),
  },
  {
    name: 'us.vendor.writes',
    refused: [],
    fields: (n) => ({
      ...chat,
      ...tokens(n),
      ...tokens(2 * n, '_above_200k_tokens'),
      cache_creation_input_token_cost: perToken(2 * n),
      cache_creation_input_token_cost_above_1hr: perToken(3 * n),
      cache_creation_input_token_cost_above_200k_tokens: perToken(4 * n),
      cache_creation_input_token_cost_above_1hr_above_200k_tokens: perToken(6 * n),
      search_context_cost_per_query: '{"search_context_size_low": 1e-2, "search_context_size_high": 1e-2}',
      provider_specific_entry: '{"fast": 6.0, "us": 1.1}',
    }),
    entry: (n) =>
      token(n, {
        usdPerMillion: { ...rates(n), cacheWrite5m: usd(2 * n), cacheWrite1h: usd(3 * n) },
        contextTiers: [
          {
            above: 200_000,
            usdPerMillion: {
              ...rates(2 * n),
              cacheWrite5m: usd(4 * n),
              cacheWrite1h: usd(6 * n),
            },
          },
        ],
        serviceTiers: { fast: { multiplier: '6' } },
        perUse: { webSearchUsd: '0.01' },
        regions: { us: '1.1' },
      }),
  },
  {
    name: 'sound',
    refused: ['cache_creation_input_audio_token_cost', 'cache_read_input_audio_token_cost'],
    fields: (n) => ({
      ...mode('realtime'),
      ...tokens(n),
      input_cost_per_audio_token: perToken(8 * n),
      output_cost_per_audio_token: perToken(16 * n),
      cache_creation_input_audio_token_cost: perToken(n),
      cache_read_input_audio_token_cost: perToken(n),
    }),
    entry: (n) => token(n, { usdPerMillion: { ...rates(n), audioInput: usd(8 * n), audioOutput: usd(16 * n) } }),
  },
  {
    name: 'pictures',
    refused: ['output_cost_per_video_token'],
    fields: (n) => ({
      ...chat,
      ...tokens(n),
      input_cost_per_image_token: perToken(2 * n),
      output_cost_per_image_token: perToken(6 * n),
      output_cost_per_reasoning_token: perToken(5 * n),
      output_cost_per_video_token: perToken(n),
    }),
    entry: (n) =>
      token(n, {
        usdPerMillion: {
          ...rates(n),
          reasoning: usd(5 * n),
          imageInput: usd(2 * n),
          imageOutput: usd(6 * n),
        },
      }),
  },
  {
    name: 'tools',
    fields: (n) => ({
      ...chat,
      ...tokens(n),
      file_search_cost_per_1k_calls: '2.5',
      code_interpreter_cost_per_session: '0.03',
      file_search_cost_per_gb_per_day: '0.1',
      vector_store_cost_per_gb_per_day: '0.1',
      computer_use_input_cost_per_1k_tokens: '0.003',
      computer_use_output_cost_per_1k_tokens: '0.012',
      input_cost_per_image: '0.002',
      input_cost_per_audio_per_second: '0.001',
      input_cost_per_video_per_second: '0.002',
      regional_processing_uplift_multiplier_us: '1.1',
      regional_processing_uplift_multiplier_eu: '1.1',
      search_context_cost_per_query: '{"search_context_size_low": 0.01, "search_context_size_high": 0.02}',
    }),
    entry: (n) => token(n, { perUse: { fileSearchUsd: '0.0025' } }),
    refused: [
      'code_interpreter_cost_per_session',
      'file_search_cost_per_gb_per_day',
      'vector_store_cost_per_gb_per_day',
      'computer_use_input_cost_per_1k_tokens',
      'computer_use_output_cost_per_1k_tokens',
      'input_cost_per_image',
      'input_cost_per_audio_per_second',
      'input_cost_per_video_per_second',
      'regional_processing_uplift_multiplier_us',
      'regional_processing_uplift_multiplier_eu',
      'search_context_cost_per_query',
    ],
  },
  {
    name: '1024-x-1024/image',
    refused: ['input_cost_per_image'],
    fields: (n) => ({
      ...mode('image_generation'),
      output_cost_per_image: numberText(n, 3),
      input_cost_per_image: numberText(n, 3),
    }),
    entry: (n) => ({ quotaType: 'Request', requestUsd: usd(n) }),
  },
  {
    name: 'old-image',
    refused: [],
    fields: (n) => ({
      ...mode('image_generation'),
      input_cost_per_image: numberText(n, 3),
      output_cost_per_image: '0.0',
    }),
    entry: (n) => ({ quotaType: 'Request', requestUsd: usd(n) }),
  },
  {
    name: 'pixels',
    entry: undefined,
    refused: ['input_cost_per_pixel', 'output_cost_per_pixel'],
    fields: (n) => ({
      ...mode('image_generation'),
      input_cost_per_pixel: numberText(n, 9),
      output_cost_per_pixel: numberText(n, 9),
    }),
  },
  {
    name: 'edits',
    entry: undefined,
    refused: ['input_cost_per_image'],
    fields: (n) => ({ ...mode('image_edit'), input_cost_per_image: numberText(n, 3) }),
  },
  {
    name: 'film',
    refused: [],
    fields: (n) => ({ ...mode('video_generation'), output_cost_per_second: numberText(n, 3) }),
    entry: (n) => ({ quotaType: 'Request', perSecondUsd: usd(n) }),
  },
  {
    name: 'long-film',
    refused: ['output_cost_per_video_per_second_1080p'],
    fields: (n) => ({
      ...mode('video_generation'),
      output_cost_per_video_per_second: numberText(n, 3),
      output_cost_per_video_per_second_1080p: numberText(2 * n, 3),
    }),
    entry: (n) => ({ quotaType: 'Request', perSecondUsd: usd(n) }),
  },
  {
    name: 'transcripts',
    entry: (n) => ({ quotaType: 'Request', perMinuteUsd: usd(60 * n, 6) }),
    refused: [],
    fields: (n) => ({
      ...mode('audio_transcription'),
      input_cost_per_second: numberText(n, 6),
      output_cost_per_second: numberText(n, 6),
    }),
  },
  {
    name: 'speech',
    entry: (n) => ({ quotaType: 'Request', perMillionCharactersUsd: usd(n) }),
    refused: [],
    fields: (n) => ({ ...mode('audio_speech'), input_cost_per_character: numberText(n, 9) }),
  },
  {
    name: 'rerank',
    entry: undefined,
    refused: ['input_cost_per_query'],
    fields: (n) => ({ ...mode('rerank'), input_cost_per_query: numberText(n, 6), input_cost_per_token: '0.0' }),
  },
  {
    name: 'free',
    entry: undefined,
    refused: [],
    fields: () => ({ ...chat, input_cost_per_token: '0', output_cost_per_token: '0.0' }),
  },
  {
    name: 'too-fine',
    entry: undefined,
    refused: [],
    fields: (n) => ({ ...chat, input_cost_per_token: `${n + 1}e-17`, output_cost_per_token: '1e-06' }),
  },
];

export function litellmText(): string {
  const models = LITELLM.flatMap(modelsOf).map(({ key, fields }) => `${text(key)}: ${jsonOf(fields)}`);
  return `{"sample_spec": {"input_cost_per_token": 0, "litellm_provider": "a description"}, ${models.join(',\n')}}`;
}

// models.dev: dollars per million
const million = (n: number): string => usd(n);
const cost = (n: number): Fields => ({
  input: million(n),
  output: million(4 * n),
  cache_read: numberText(n / 10, 3),
});
const priced = (fields: Fields, more: Fields = {}): Fields => ({ cost: jsonOf(fields), ...more });

export const MODELS_DEV: readonly Template[] = [
  { name: 'plain', fields: (n) => priced(cost(n), { limit: '{"context": 1}' }), entry: token, refused: [] },
  {
    name: 'tiers',
    refused: [],
    fields: (n) =>
      priced({
        ...cost(n),
        cache_write: million(2 * n),
        context_over_200k: jsonOf({ ...cost(2 * n), cache_write: million(4 * n) }),
        tiers: `[${jsonOf({ tier: '{"type": "context", "size": 272000}', ...cost(2 * n), cache_write: million(4 * n) })}]`,
      }),
    entry: (n) =>
      token(n, {
        usdPerMillion: { ...rates(n), cacheWrite5m: usd(2 * n) },
        contextTiers: [{ above: 272_000, usdPerMillion: { ...rates(2 * n), cacheWrite5m: usd(4 * n) } }],
      }),
  },
  {
    name: 'over-200k',
    refused: [],
    fields: (n) => priced({ ...cost(n), context_over_200k: jsonOf(cost(2 * n)) }),
    entry: (n) => token(n, { contextTiers: [{ above: 200_000, usdPerMillion: rates(2 * n) }] }),
  },
  {
    name: 'sound',
    refused: [],
    fields: (n) =>
      priced({
        ...cost(n),
        input_audio: million(8 * n),
        output_audio: million(16 * n),
        reasoning: million(5 * n),
      }),
    entry: (n) =>
      token(n, {
        usdPerMillion: {
          ...rates(n),
          reasoning: usd(5 * n),
          audioInput: usd(8 * n),
          audioOutput: usd(16 * n),
        },
      }),
  },
  {
    name: 'modes',
    refused: ['experimental.modes.turbo'],
    fields: (n) =>
      priced(cost(n), {
        experimental: `{"modes": {"fast": {"cost": ${jsonOf(cost(2 * n))}}, "turbo": {"cost": ${jsonOf(cost(3 * n))}}}}`,
      }),
    entry: (n) => token(n, { serviceTiers: { fast: { multiplier: '2' } } }),
  },
  {
    name: 'other-steps',
    entry: token,
    refused: ['cost.tiers', 'cost.per_page'],
    fields: (n) =>
      priced({
        ...cost(n),
        tiers: `[${jsonOf({ tier: '{"type": "duration", "size": 60}', ...cost(2 * n) })}]`,
        per_page: '0.01',
      }),
  },
  { name: 'free', entry: undefined, refused: [], fields: () => priced({ input: '0', output: '0' }) },
];

export function modelsDevText(): string {
  const providers = MODELS_DEV.map(
    (template) =>
      `${text(template.name)}: {"name": "acme", "models": {${modelsOf(template)
        .map(({ key, fields }) => `${text(key)}: ${jsonOf(fields)}`)
        .join(',\n')}}}`,
  );
  return `{${providers.join(',\n')}}`;
}

// OpenRouter: strings in dollars per token
const quoted = (n: number): string => text(usd(n, 9));
const pricing = (n: number, more: Fields = {}): Fields => ({
  prompt: quoted(n),
  completion: quoted(4 * n),
  input_cache_read: quoted(n / 10),
  image: '"0"',
  request: '"0"',
  ...more,
});

export const OPENROUTER: readonly Template[] = [
  { name: 'acme/plain', fields: (n) => pricing(n), entry: token, refused: [] },
  {
    name: 'acme/writes',
    refused: [],
    fields: (n) =>
      pricing(n, {
        input_cache_write: quoted(2 * n),
        internal_reasoning: quoted(5 * n),
        input_audio: quoted(8 * n),
        web_search: '"0.01"',
      }),
    entry: (n) =>
      token(n, {
        usdPerMillion: {
          ...rates(n),
          cacheWrite5m: usd(2 * n),
          reasoning: usd(5 * n),
          audioInput: usd(8 * n),
        },
        perUse: { webSearchUsd: '0.01' },
      }),
  },
  {
    name: 'acme/units',
    refused: ['pricing.image', 'pricing.request', 'pricing.discount'],
    fields: (n) => pricing(n, { image: '"0.002"', request: '"0.01"', discount: '"0.1"' }),
    entry: token,
  },
  {
    name: 'router/auto',
    entry: undefined,
    refused: ['pricing.prompt', 'pricing.completion'],
    fields: () => ({ prompt: '"-1"', completion: '"-1"' }),
  },
  { name: 'acme/free', entry: undefined, refused: [], fields: () => ({ prompt: '"0"', completion: '"0"' }) },
];

export function openrouterText(): string {
  const models = OPENROUTER.flatMap(modelsOf).map(
    ({ key, fields }) => `{"id": ${text(key)}, "context_length": 1, "pricing": ${jsonOf(fields)}}`,
  );
  return `{"data": [${models.join(',\n')}]}`;
}

// Portkey: cents per token
const cents = (n: number): string => `{"price": ${numberText(n, 7)}}`;
const asYouGo = (n: number, more: Fields = {}): Fields => ({
  request_token: cents(n),
  response_token: cents(4 * n),
  cache_read_input_token: cents(n / 10),
  cache_write_input_token: '{"price": 0}',
  ...more,
});
const config = (fields: Fields, more: Fields = {}): Fields => ({
  pricing_config: jsonOf({ pay_as_you_go: jsonOf(fields), currency: '"USD"', ...more }),
});

export const PORTKEY: readonly Template[] = [
  { name: 'plain', fields: (n) => config(asYouGo(n)), entry: token, refused: [] },
  {
    name: 'units',
    refused: ['additional_units.gpu_hour'],
    fields: (n) =>
      config(
        asYouGo(n, {
          cache_write_input_token: cents(2 * n),
          request_audio_token: cents(8 * n),
          response_audio_token: cents(16 * n),
          additional_units:
            '{"web_search": {"price": 1}, "file_search": {"price": 0.25}, "gpu_hour": {"price": 3}, ' +
            `"cache_write_1h": ${cents(3 * n)}, "storage": {"price": 0}}`,
        }),
      ),
    entry: (n) =>
      token(n, {
        usdPerMillion: {
          ...rates(n),
          cacheWrite5m: usd(2 * n),
          cacheWrite1h: usd(3 * n),
          audioInput: usd(8 * n),
          audioOutput: usd(16 * n),
        },
        perUse: { webSearchUsd: '0.01', fileSearchUsd: '0.0025' },
      }),
  },
  {
    name: 'custom',
    entry: token,
    refused: ['batch_config', 'custom_pricing', 'pay_as_you_go.image'],
    fields: (n) =>
      config(asYouGo(n, { image: '{"standard": {"1024x1024": {"price": 4}}}' }), {
        batch_config: '{"discount": 0.5}',
        custom_pricing: '{"context_tier_map": {}}',
      }),
  },
  {
    name: 'euros',
    entry: undefined,
    refused: ['currency'],
    fields: (n) => config(asYouGo(n), { currency: '"EUR"' }),
  },
  {
    name: 'free',
    entry: undefined,
    refused: [],
    fields: () => config({ request_token: '{"price": 0}', response_token: '{"price": 0}' }),
  },
];

export function portkeyText(): string {
  return `{${PORTKEY.flatMap(modelsOf)
    .map(({ key, fields }) => `${text(key)}: ${jsonOf(fields)}`)
    .join(',\n')}}`;
}
