/** What recorded answers cost, in every dimension of a price, against figures computed by hand (the fixture). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { viewLines } from '#ledger/bill.ts';
import { billOf, costNanoUsd, worstCaseNanoUsd } from '#ledger/price.ts';
import type { CompiledPrice } from '#ledger/price-sheet.ts';
import type { TokenCounts } from '#ledger/usage-record.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { servedTiers } from '../../../../dataplane/pipeline/service-tiers.ts';
import { meterMessage } from '../../../../dataplane/protocol/anthropic/stream-meter.ts';
import { meterCompletion } from '../../../../dataplane/protocol/openai/stream-meter.ts';
import type { ReportedUsage } from '../../../../dataplane/protocol/converter.ts';
import { indexPrices, priceAt } from '../../../../dataplane/state/compile-pricing.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';

interface Case {
  readonly name: string;
  readonly model: string;
  readonly protocol?: 'Anthropic';
  readonly groupRatio?: string;
  readonly asked?: string;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly lines: readonly (readonly [dimension: string, quantity: number, rateUsd: string])[];
  readonly tier?: string;
  readonly above?: number;
  readonly cost: number;
}

interface Fixture {
  readonly catalog: unknown;
  readonly cases: readonly Case[];
}

const E9 = 10n ** 9n;
const fixture = parse(readFileSync(join(import.meta.dirname, 'testdata/price-matrix.yaml'), 'utf8')) as Fixture;
const { snapshot } = translate(resourcesOf(stringify(fixture.catalog)), {
  gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS,
});
const prices = indexPrices(snapshot.catalogs);

function priceOf(model: string, ratio = '1'): CompiledPrice {
  const entry = prices.get(model) ?? assert.fail(`${model} has no price`);
  return priceAt(entry, (parseDecimal(ratio) ?? assert.fail(ratio)) * E9);
}

function reportedBy({ answer, protocol }: Case): ReportedUsage {
  return (protocol === 'Anthropic' ? meterMessage(answer) : meterCompletion(answer)).reported;
}

function tokensOf(
  { input = 0, cached = 0, cacheWrite5m = 0, cacheWrite1h = 0, output = 0 }: ReportedUsage,
): TokenCounts {
  return { input, cached, cacheWrite5m, cacheWrite1h, output };
}

describe('an answer costs, to the nano-dollar,', () => {
  for (const each of fixture.cases) {
    test(each.name, () => {
      const reported = reportedBy(each);
      const bill = billOf(priceOf(each.model, each.groupRatio), {
        tokens: tokensOf(reported), details: reported.details, generations: 1,
        serviceTiers: servedTiers(reported.serviceTier, each.asked),
      });
      const lines = bill.lines.map(({ dimension, quantity, rateUsd }) => [dimension, quantity, rateUsd]);
      assert.deepEqual(lines, each.lines);
      for (const line of bill.lines) assert.deepEqual([line.serviceTier, line.above], [each.tier, each.above]);
      assert.equal(bill.costNanoUsd, BigInt(each.cost));
      const sum = viewLines(bill.lines).reduce((total, { amount_usd: usd }) => total + nanoUsd(usd), 0n);
      assert.equal(sum, bill.costNanoUsd, 'a person who adds up the lines comes to the same');
    });
  }
});

function nanoUsd(usd: string): bigint {
  return parseDecimal(usd) ?? assert.fail(`${usd} is no whole number of nano-dollars`);
}

describe('no answer within its bounds costs more than what was held for it', () => {
  for (const each of fixture.cases) {
    test(each.name, () => {
      const reported = reportedBy(each);
      const tokens = tokensOf(reported);
      const price = priceOf(each.model, each.groupRatio);
      const inputTokens = tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
      for (const serviceTier of ['standard', ...price.serviceTiers.keys()]) {
        const cost = costNanoUsd(price, {
          tokens, details: reported.details, generations: 1, serviceTiers: [serviceTier],
        });
        const held = worstCaseNanoUsd(price, {
          inputTokens, outputTokens: tokens.output, oneHourCache: true, generations: 1,
          serviceTiers: ['standard', ...price.serviceTiers.keys()],
          modalities: ['audioInput', 'audioOutput', 'imageInput'],
        });
        assert.ok(held >= cost, `${serviceTier}: held ${held}, cost ${cost}`);
      }
    });
  }
});
