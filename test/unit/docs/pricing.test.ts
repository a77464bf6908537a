/** The examples of docs/reference/pricing.md: the manifests as they are written there, and what calls cost by them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { parse, stringify } from 'yaml';
import { billOf } from '#price/price.ts';
import type { Consumption } from '#price/price.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { indexPrices, priceAt } from '#price/model-prices.ts';
import { translate } from '../../../operator/translate/translate.ts';
import { mgw, tempFolder } from '../../support/cli.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../operator/support.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/reference/pricing.md'), 'utf8');
const HEAD = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'PriceCatalog' };

type Fields = Readonly<Record<string, unknown>>;

/** The page has a price by tokens, further fields of it, images and videos, audio, and a channel's cost. */
function manifestsOfPage(): { readonly prices: string; readonly costs: string; readonly route: string } {
  const [entry = '', further = '', generations = '', audio = '', ofRoute = '', costs = ''] = [
    ...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```/gm),
  ].map(([, text = '']) => text);
  const channels = [...(parse(ofRoute) as readonly Fields[]), { name: 'backup' }].map((channel) => ({
    protocol: 'OpenAI',
    baseUrl: 'https://api.example.com/v1',
    ...channel,
  }));
  const [byTokens] = parse(entry) as readonly Fields[];
  const others = [generations, audio].flatMap((list) => parse(list) as readonly Fields[]);
  const models = [{ ...byTokens, ...(parse(further) as Fields) }, ...others];
  return {
    prices: stringify({ ...HEAD, metadata: { name: 'prices' }, spec: { models } }),
    costs,
    route: stringify({
      ...HEAD,
      kind: 'ModelRoute',
      metadata: { name: 'openai' },
      spec: {
        models: [{ name: 'gpt-5.4', contextTokens: 1_000_000, maxOutputTokens: 100_000 }],
        channels,
      },
    }),
  };
}

test('the manifests are right as they are written', async () => {
  const { prices, costs, route } = manifestsOfPage();
  await using folder = await tempFolder({ 'prices.yaml': prices, 'costs.yaml': costs, 'route.yaml': route });
  const { exitCode, stdout } = await mgw(['validate', folder.path]);
  assert.deepEqual([exitCode, stdout], [0, `${folder.path}: no errors, no warnings\n`]);
});

const CALL = { input: 2000, cached: 8000, output: 500 };
const EXAMPLES: readonly {
  readonly usd: string;
  readonly model?: string;
  readonly ratio?: string;
  readonly channel?: string;
  readonly of?: 'costs';
  readonly tokens?: Partial<typeof NO_TOKENS>;
  readonly more?: Partial<Consumption>;
}[] = [
  {
    usd: '1.245',
    tokens: { input: 100_000, cached: 200_000, output: 1000 },
    more: { serviceTiers: ['priority'] },
  },
  { usd: '0.0145', tokens: CALL },
  { usd: '0.01595', tokens: CALL, channel: 'openai/azure-eu' },
  { usd: '0.0152', tokens: CALL, channel: 'openai/backup' },
  {
    usd: '0.0495',
    model: 'gpt-image-1',
    ratio: '1.5',
    more: { generations: 3, made: { size: '1024x1024', quality: 'low' } },
  },
  { usd: '0.80', model: 'sora-2', ratio: '0.5', more: { generations: 2, made: { seconds: 8 } } },
  { usd: '2.00', model: 'sora-2-pro', more: { made: { seconds: 4, size: '1792x1024' } } },
  { usd: '0.00305', model: 'whisper-1', ratio: '0.5', more: { made: { seconds: 61 } } },
  { usd: '0.09216', model: 'tts-1', ratio: '1.5', more: { made: { characters: 4096 } } },
  {
    usd: '0.001085',
    model: 'gpt-4o-transcribe',
    tokens: { input: 114, output: 45 },
    more: { details: { audioInput: 100 } },
  },
  { usd: '0.156', ratio: '1.2', of: 'costs', tokens: { input: 40_000, cached: 60_000, output: 1000 } },
  { usd: '0.1105', ratio: '0.85', of: 'costs', tokens: { input: 40_000, cached: 60_000, output: 1000 } },
];

test.each(EXAMPLES)('a call costs $usd', ({ usd, model = 'gpt-5.4', ratio = '1', channel, of, tokens, more }) => {
  const { prices, costs } = manifestsOfPage();
  // the prices of costs are those of the list in the page's example of a margin
  const manifest = of === 'costs' ? costs.replace('purpose: Costs', 'purpose: Prices') : prices;
  const { snapshot } = translate(resourcesOf(manifest), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
  const entry = indexPrices(snapshot.catalogs).get(model) ?? assert.fail(`${model} has no price`);
  const ratioE18 = (parseDecimal(ratio) ?? assert.fail(ratio)) * 10n ** 9n;
  const { costNanoUsd } = billOf(priceAt(entry, ratioE18, channel), {
    generations: 1,
    tokens: { ...NO_TOKENS, ...tokens },
    ...more,
  });
  assert.equal(costNanoUsd, parseDecimal(usd));
  assert.ok(PAGE.includes(`$${usd}`), usd);
});
