/** Public price lists in their own shapes: what goes over exactly, what is refused by name, where two disagree. */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { parse } from 'yaml';
import { figuresOfCatalog } from '../../../../bin/catalog/catalog-figures.ts';
import { differenceTable, figuresOfList, importCatalog } from '../../../../bin/catalog/import.ts';
import { formatDecimalText, parseDecimalText, shift } from '../../../../bin/catalog/lists/decimal-text.ts';
import { openList } from '../../../../bin/catalog/lists/open-list.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';

const LITELLM = `{
  "sample_spec": {"input_cost_per_token": 0.0, "litellm_provider": "one of …"},
  "gpt-5.4": {
    "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1050000,
    "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 2.5e-07,
    "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 2.25e-05,
    "cache_read_input_token_cost_above_272k_tokens": 5e-07,
    "input_cost_per_token_priority": 5e-06, "output_cost_per_token_priority": 3e-05,
    "cache_read_input_token_cost_priority": 5e-07,
    "input_cost_per_token_flex": 1.25e-06, "output_cost_per_token_flex": 7.5e-06,
    "cache_read_input_token_cost_flex": 1.3e-07,
    "input_cost_per_token_batches": 1.25e-06, "output_cost_per_token_batches": 7.5e-06,
    "regional_processing_uplift_multiplier_us": 1.1, "supports_vision": true
  },
  "claude-opus-4-8": {
    "litellm_provider": "anthropic", "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05,
    "cache_read_input_token_cost": 5e-07, "cache_creation_input_token_cost": 6.25e-06,
    "cache_creation_input_token_cost_above_1hr": 1e-05,
    "input_cost_per_token_above_200k_tokens": 1e-05, "output_cost_per_token_above_200k_tokens": 3.75e-05,
    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 2e-05,
    "search_context_cost_per_query": {"search_context_size_low": 0.01, "search_context_size_medium": 0.01},
    "provider_specific_entry": {"fast": 6.0, "us": 1.1}
  },
  "gemini-flash": {
    "litellm_provider": "gemini", "input_cost_per_token": 3e-07, "output_cost_per_token": 2.5e-06,
    "output_cost_per_reasoning_token": 2.5e-06, "input_cost_per_audio_token": 1e-06,
    "search_context_cost_per_query": {"search_context_size_low": 0.01, "search_context_size_high": 0.02}
  },
  "gpt-image": {"litellm_provider": "openai", "mode": "image_generation", "output_cost_per_image": 0.04},
  "sora-2": {"litellm_provider": "openai", "mode": "video_generation", "output_cost_per_second": 0.1},
  "whisper": {"litellm_provider": "openai", "mode": "audio_transcription", "output_cost_per_second": 0.0001},
  "tts-1": {"litellm_provider": "openai", "mode": "audio_speech", "input_cost_per_character": 1.5e-05},
  "free": {"litellm_provider": "x", "input_cost_per_token": 0, "output_cost_per_token": 0},
  "azure/eu/gpt-5.4": {"litellm_provider": "azure", "input_cost_per_token": 2.75e-06, "output_cost_per_token": 1.65e-05}
}`;
const MODELS_DEV = `{"anthropic": {"name": "Anthropic", "models": {"claude-opus-4-8": {
  "cost": {"input": 5, "output": 25, "cache_read": 0.5, "cache_write": 6.25,
    "tiers": [{"tier": {"type": "context", "size": 200000}, "input": 10, "output": 37.5, "cache_read": 1,
      "cache_write": 12.5}]},
  "experimental": {"modes": {"fast": {"cost": {"input": 10, "output": 50, "cache_read": 1, "cache_write": 12.5}}}}}}}}`;
const OPENROUTER = `{"data": [
  {"id": "openai/gpt-5.4", "pricing": {"prompt": "0.0000025", "completion": "0.000015",
    "input_cache_read": "0.00000025", "web_search": "0.01", "image": "0", "request": "0.002"}},
  {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}}]}`;
const PORTKEY = `{"gpt-5.4": {"pricing_config": {"pay_as_you_go": {"request_token": {"price": 0.00025},
  "response_token": {"price": 0.0015}, "cache_read_input_token": {"price": 0.000025},
  "cache_write_input_token": {"price": 0}, "additional_units": {"web_search": {"price": 1}, "gpu_hour": {"price": 3}}},
  "custom_pricing": {}, "currency": "USD"}}}`;

interface Manifest {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly models: readonly Record<string, unknown>[] };
}

function imported(text: string, models: readonly string[], more: Partial<Parameters<typeof importCatalog>[0]> = {}) {
  const { manifest, ...rest } = importCatalog({
    name: 'imported',
    source: openList(text),
    text,
    wanted: models.map((name) => ({ name, keys: [name] })),
    allowFree: false,
    revision: 'abc',
    date: '2026-11-23',
    ...more,
  });
  return { ...rest, manifest, parsed: manifest === undefined ? undefined : (parse(manifest) as Manifest) };
}

describe('decimals by their text', () => {
  test('are exact, and refused where a catalog could not hold them', () => {
    for (const [text, places, expected] of [
      ['2.5e-06', 6, '2.5'],
      ['1e-7', 6, '0.1'],
      ['0.00000125', 6, '1.25'],
      ['3', 0, '3'],
      ['0', 6, '0'],
      ['1.30E-07', 6, '0.13'],
      ['5e3', 0, '5000'],
      ['0.1234567891', 0, undefined],
      ['-1', 0, undefined],
      ['99999999999', 0, undefined],
    ] as const) {
      const decimal = parseDecimalText(text) ?? assert.fail(text);
      assert.equal(formatDecimalText(shift(decimal, places)), expected, text);
    }
    for (const text of ['', '1,5', 'NaN', '0x1', '1.2.3']) assert.equal(parseDecimalText(text), undefined, text);
  });
});

describe("LiteLLM's list", () => {
  test('goes over with its context tiers, service tiers and what they have in common', () => {
    const { parsed, remarks, missing } = imported(LITELLM, ['gpt-5.4', 'claude-opus-4-8']);
    assert.deepEqual(missing, []);
    assert.deepEqual(parsed?.spec.models, [
      {
        name: 'gpt-5.4',
        vendor: 'openai',
        quotaType: 'Token',
        usdPerMillion: { input: '2.5', output: '15', cacheRead: '0.25' },
        contextTiers: [{ above: 272_000, usdPerMillion: { input: '5', output: '22.5', cacheRead: '0.5' } }],
        serviceTiers: {
          priority: { multiplier: '2' },
          // its cached input is not half of the standard one's
          flex: {
            usdPerMillion: { input: '1.25', output: '7.5', cacheRead: '0.13' },
            contextTiers: [{ above: 272_000, usdPerMillion: { input: '2.5', output: '11.25', cacheRead: '0.25' } }],
          },
          batch: { multiplier: '0.5' },
        },
      },
      {
        name: 'claude-opus-4-8',
        vendor: 'anthropic',
        quotaType: 'Token',
        usdPerMillion: { input: '5', output: '25', cacheRead: '0.5', cacheWrite5m: '6.25', cacheWrite1h: '10' },
        contextTiers: [
          {
            above: 200_000,
            usdPerMillion: {
              input: '10',
              output: '37.5',
              cacheRead: '1',
              cacheWrite5m: '12.5',
              cacheWrite1h: '20',
            },
          },
        ],
        serviceTiers: { fast: { multiplier: '6' } },
        perUse: { webSearchUsd: '0.01' },
        regions: { us: '1.1' },
      },
    ]);
    assert.ok(remarks.includes('gpt-5.4: not imported: regional_processing_uplift_multiplier_us'), String(remarks));
    const workedOut = 'claude-opus-4-8: above 200000: no price of cacheRead in the list; calculated as';
    assert.ok(remarks.some((remark) => remark.startsWith(workedOut)));
  });

  test('says where it is from, and is taken by the operator as it is', () => {
    const { parsed, manifest = '' } = imported(LITELLM, ['gpt-5.4', 'claude-opus-4-8', 'gemini-flash', 'gpt-image']);
    assert.deepEqual(
      Object.entries(parsed?.metadata.annotations ?? {}).map(([name, value]) => [
        name,
        name.endsWith('sha256') ? value.length : value,
      ]),
      [
        ['prices.modelgateway.dev/source', 'litellm'],
        ['prices.modelgateway.dev/revision', 'abc'],
        ['prices.modelgateway.dev/date', '2026-11-23'],
        ['prices.modelgateway.dev/sha256', 64],
      ],
    );
    const { snapshot } = translate(resourcesOf(manifest), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
    assert.equal(snapshot.catalogs.flatMap(({ models, sheets }) => [...models, ...sheets]).length, 4);
  });

  test('refuses by name what it cannot carry over', () => {
    const { remarks, missing } = imported(LITELLM, ['gemini-flash', 'free', 'gpt-9', 'opus']);
    assert.deepEqual(missing, ['free', 'gpt-9', 'opus']);
    const said = remarks.join('\n');
    assert.match(said, /gemini-flash: not imported: search_context_cost_per_query: a price for each size/);
    assert.match(said, /gemini-flash: no price of cached input in the list/);
    assert.match(said, /free: the price is 0: pass --allow-free/);
    assert.match(said, /gpt-9: not in the price list\.$/m);
    assert.match(
      said,
      /opus: not in the price list\. Similar keys: claude-opus-4-8\. Choose one with --models opus=KEY/,
    );
  });

  test('has no multiplier for a tier that prices what the standard tier does not', () => {
    const text = `{"m": {"litellm_provider": "x", "input_cost_per_token": 1e-06, "output_cost_per_token": 0,
      "input_cost_per_token_priority": 2e-06, "output_cost_per_token_priority": 8e-06}}`;
    const [model] = imported(text, ['m']).parsed?.spec.models ?? [];
    assert.deepEqual(model?.['serviceTiers'], { priority: { usdPerMillion: { input: '2', output: '8' } } });
  });

  test('has no free class, tier or tool, and no multiplier of an unknown name, unless a person says so', () => {
    const text = `{"m": {"litellm_provider": "x", "input_cost_per_token": 1e-06, "output_cost_per_token": 0,
      "cache_read_input_token_cost": 0.0, "input_cost_per_token_above_200k_tokens": 2e-06,
      "output_cost_per_token_above_200k_tokens": 0, "input_cost_per_token_priority": 2e-06,
      "cache_read_input_token_cost_priority": 0, "search_context_cost_per_query": {"search_context_size_low": 0},
      "provider_specific_entry": {"us": 1.1, "eu": -1, "fast": 0, "turbo": 3}, "tiered_pricing": []}}`;
    const { parsed, remarks } = imported(text, ['m']);
    assert.deepEqual(parsed?.spec.models[0], {
      name: 'm',
      vendor: 'x',
      quotaType: 'Token',
      usdPerMillion: { input: '1' },
      contextTiers: [{ above: 200_000, usdPerMillion: { input: '2' } }],
      serviceTiers: { priority: { multiplier: '2' } },
      regions: { us: '1.1' },
    });
    const zero = 'the price is 0: pass --allow-free to accept it';
    assert.deepEqual(remarks, [
      'm: not imported: provider_specific_entry.eu: "-1" is not a price',
      'm: not imported: provider_specific_entry.turbo',
      'm: not imported: tiered_pricing',
      `m: not imported: output: ${zero}`,
      `m: not imported: cacheRead: ${zero}`,
      `m: not imported: above 200000 output: ${zero}`,
      `m: not imported: service tier priority cacheRead: ${zero}`,
      `m: not imported: service tier fast: ${zero}`,
      `m: not imported: webSearchUsd: ${zero}`,
      'm: no price of output in the list: the price of input applies',
      'm: no price of cached input in the list: the price of input applies',
    ]);
    const free = imported(text, ['m'], { allowFree: true }).parsed?.spec.models[0];
    assert.deepEqual(free?.['usdPerMillion'], { input: '1', output: '0', cacheRead: '0' });
  });

  test('is matched exactly, or by the key that a person names', () => {
    const { parsed } = imported(LITELLM, [], { wanted: [{ name: 'gpt-5.4', keys: ['azure/eu/gpt-5.4'] }] });
    assert.deepEqual(parsed?.spec.models[0]?.['usdPerMillion'], { input: '2.75', output: '16.5' });
  });
});

test("models.dev's list goes over, and disagrees with LiteLLM's about the fast mode", () => {
  const { parsed, differences } = imported(MODELS_DEV, [], {
    wanted: [{ name: 'claude-opus-4-8', keys: ['anthropic/claude-opus-4-8', 'claude-opus-4-8'] }],
    other: figuresOfList(openList(LITELLM), false),
  });
  assert.deepEqual(parsed?.spec.models[0]?.['serviceTiers'], { fast: { multiplier: '2' } });
  const [head, ...lines] = differenceTable(differences, 'models.dev', 'litellm');
  assert.match(head ?? '', /^MODEL +FIGURE +MODELS\.DEV +LITELLM$/);
  assert.ok(
    lines.some((line) => /^claude-opus-4-8 +serviceTiers\.fast\.multiplier +2 +6$/.test(line)),
    String(lines),
  );
  assert.ok(lines.some((line) => /^claude-opus-4-8 +usdPerMillion\.cacheWrite1h +- +10$/.test(line)));
});

test('videos go over by the second, transcriptions by the minute, and speech by a million characters', () => {
  const { parsed, missing } = imported(LITELLM, ['sora-2', 'whisper', 'tts-1']);
  assert.deepEqual(parsed?.spec.models, [
    { name: 'sora-2', vendor: 'openai', quotaType: 'Request', perSecondUsd: '0.1' },
    { name: 'whisper', vendor: 'openai', quotaType: 'Request', perMinuteUsd: '0.006' },
    { name: 'tts-1', vendor: 'openai', quotaType: 'Request', perMillionCharactersUsd: '15' },
  ]);
  assert.deepEqual(missing, []);
});

test('a catalog in force is compared in dollars, also where it is written in ratios', () => {
  const other = figuresOfCatalog({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'PriceCatalog',
    metadata: { name: 'standard', namespace: 'g' },
    spec: {
      ratioBaseUsd: '2',
      models: [
        {
          name: 'gpt-5.4',
          vendor: 'OpenAI',
          quotaType: 'Token',
          modelRatio: '1.25',
          completionRatio: '5',
          cacheRatio: '0.1',
          channels: [{ channel: 'r/eu', multiplier: '1.1' }],
        },
      ],
    },
  });
  const { remarks, differences } = imported(LITELLM, ['gpt-5.4', 'claude-opus-4-8'], { other });
  assert.deepEqual(
    differences.find(({ figure }) => figure === 'usdPerMillion.output'),
    {
      model: 'gpt-5.4',
      figure: 'usdPerMillion.output',
      mine: '15',
      theirs: '12.5',
    },
  );
  assert.ok(!differences.some(({ figure }) => /^usdPerMillion\.(?:input|cacheRead)|channels/.test(figure)));
  assert.ok(remarks.includes('claude-opus-4-8: the catalog standard has no such key'));
});

test("OpenRouter's list goes over from strings per token; a price that varies is none", () => {
  const { parsed, remarks, missing } = imported(OPENROUTER, [], {
    wanted: [
      { name: 'gpt-5.4', keys: ['openai/gpt-5.4'] },
      { name: 'auto', keys: ['openrouter/auto'] },
    ],
  });
  assert.deepEqual(parsed?.spec.models, [
    {
      name: 'gpt-5.4',
      vendor: 'openai',
      quotaType: 'Token',
      usdPerMillion: { input: '2.5', output: '15', cacheRead: '0.25' },
      perUse: { webSearchUsd: '0.01' },
    },
  ]);
  assert.deepEqual(missing, ['auto']);
  assert.ok(remarks.includes('gpt-5.4: not imported: pricing.request'));
  assert.ok(remarks.includes('auto: not imported: pricing.prompt: "-1" is not a price'));
});

test("Portkey's list goes over from cents per token; 0 for a class is no price", () => {
  const { parsed, remarks } = imported(PORTKEY, ['gpt-5.4']);
  assert.deepEqual(parsed?.spec.models[0], {
    name: 'gpt-5.4',
    vendor: 'unknown',
    quotaType: 'Token',
    usdPerMillion: { input: '2.5', output: '15', cacheRead: '0.25' },
    perUse: { webSearchUsd: '0.01' },
  });
  assert.ok(remarks.includes('gpt-5.4: not imported: additional_units.gpu_hour'));
  assert.ok(remarks.includes('gpt-5.4: not imported: custom_pricing'));
});

test('what is no list is said to be none', () => {
  for (const [text, words] of [
    ['{', /not valid JSON/],
    ['[]', /not a price list of openrouter, litellm/],
  ] as const)
    assert.throws(() => openList(text), words);
  assert.throws(() => openList(LITELLM, 'openrouter'), /not a price list of openrouter/);
});
