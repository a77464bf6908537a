/** What recorded answers cost, in every dimension of a price, against figures computed by hand (the fixture). */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { stringify } from 'yaml';
import { viewLines } from '#price/bill.ts';
import { costNanoUsd, worstCaseNanoUsd } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { BillLine } from '#price/bill.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { decodeTerms, encodeTerms } from '../../../../dataplane/pipeline/billing-terms.ts';
import { progressOf } from '../../../../dataplane/pipeline/consumption.ts';
import type { BillingTerms } from '../../../../dataplane/pipeline/consumption.ts';
import { meterMessage } from '../../../../dataplane/protocol/anthropic/stream-meter.ts';
import { readUsage as readGeminiUsage } from '../../../../dataplane/protocol/gemini/usage.ts';
import { meterCompletion } from '../../../../dataplane/protocol/openai/stream-meter.ts';
import type { ReportedUsage } from '../../../../dataplane/protocol/converter.ts';
import { indexPrices, priceAt } from '#price/model-prices.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { readPriceMatrix } from '../../../support/price-matrix.ts';
import type { PriceCase } from '../../../support/price-case.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';

const E9 = 10n ** 9n;
const fixture = readPriceMatrix();
const { snapshot } = translate(resourcesOf(stringify(fixture.catalog)), {
  gatewayNamespace: GATEWAY_NAMESPACE,
  nowMs: NOW_MS,
});
const prices = indexPrices(snapshot.catalogs);

function priceOf(model: string, ratio = '1', channel = 'any/channel'): CompiledPrice {
  const entry = prices.get(model) ?? assert.fail(`${model} has no price`);
  return priceAt(entry, (parseDecimal(ratio) ?? assert.fail(ratio)) * E9, channel);
}

function reportedBy({ answer, protocol }: PriceCase): ReportedUsage {
  if (protocol === 'Gemini') return readGeminiUsage(answer.usage);
  return (protocol === 'Anthropic' ? meterMessage(answer) : meterCompletion(answer)).reported;
}

function tokensOf({
  input = 0,
  cached = 0,
  cacheWrite5m = 0,
  cacheWrite1h = 0,
  output = 0,
}: ReportedUsage): TokenCounts {
  return { input, cached, cacheWrite5m, cacheWrite1h, output };
}

describe('an answer costs, to the nano-dollar,', () => {
  for (const each of fixture.cases) {
    test(each.name, () => {
      const reported = reportedBy(each);
      const activity = {
        meter: { reported, final: true, outputBytes: 0 },
        sent: true,
        produced: true,
        holdLost: false,
        timedOut: false,
        countedOutput: undefined,
      };
      const terms = termsOf(each, tokensOf(reported));
      const progress = progressOf(activity, terms, 'Succeeded');
      // jobs, which are billed by terms that the ledger has kept, are of one model, and of no use without a bound
      if (!reported.uses && !reported.parts?.some(({ model: other }) => other !== undefined)) {
        const kept = decodeTerms(encodeTerms(terms)) ?? assert.fail();
        assert.deepEqual(progressOf(activity, kept, 'Succeeded'), progress);
      }
      const { tokens, usageSource, costNanoUsd: cost, lines: said = [] } = progress;
      const bill = { costNanoUsd: cost, lines: said };
      assert.equal(usageSource, 'Provider');
      assert.deepEqual(tokens, tokensOf(reported));
      assertLines(bill.lines, each);
      assert.equal(bill.costNanoUsd, BigInt(each.cost));
      const sum = viewLines(bill.lines).reduce((total, { amount_usd: usd }) => total + nanoUsd(usd), 0n);
      assert.equal(sum, bill.costNanoUsd, 'a person who adds up the lines comes to the same');
    });
  }
});

function assertLines(lines: readonly BillLine[], each: PriceCase): void {
  if (!each.lines) return;
  assert.deepEqual(
    lines.map(({ dimension, quantity, rateUsd }) => [dimension, quantity, rateUsd]),
    each.lines,
  );
  for (const [index, line] of lines.entries()) {
    assert.deepEqual(
      [line.serviceTier, line.above, line.region, line.model],
      [each.tier, each.steps?.[index] ?? each.above, each.region, each.models?.[index] ?? undefined],
    );
  }
}

/** A call on the case's model that may consume as much as its answer says. */
function termsOf({ model, groupRatio, channel, asked }: PriceCase, tokens: TokenCounts): BillingTerms {
  const price = priceOf(model, groupRatio, channel);
  const inputTokens = tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
  // what the price of an answer needs to know of its call
  return {
    outputLimit: tokens.output,
    bounds: { price, inputTokens, requestTokens: inputTokens, estimatedInputTokens: inputTokens },
    candidate: { upstreamModel: model, model: {}, priceOf: (other: string) => priceOf(other, groupRatio, channel) },
    routed: {
      call: {
        serviceTier: asked,
        generations: 1,
        unbounded: () => true,
        output: { answers: 1, predictionTokens: 0 },
        modalities: ['audioInput', 'audioOutput', 'imageInput'],
      },
      offer: { quotaType: 'Token' },
    },
  } as unknown as BillingTerms;
}

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
          tokens,
          details: reported.details,
          generations: 1,
          serviceTiers: [serviceTier],
        });
        const held = worstCaseNanoUsd(price, {
          inputTokens,
          outputTokens: tokens.output,
          oneHourCache: true,
          generations: 1,
          serviceTiers: ['standard', ...price.serviceTiers.keys()],
          modalities: ['audioInput', 'audioOutput', 'imageInput'],
        });
        assert.ok(held >= cost, `${serviceTier}: held ${held}, cost ${cost}`);
      }
    });
  }
});
