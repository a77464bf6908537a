/** [P] The output of calls that generate no tokens: "2 images", "1 video", and of audio "9 seconds", "5 characters". */
import type { UsageRecord } from '#usage/record.ts';
import { ONE_E9, parseDecimal } from '#snapshot/decimal.ts';
import { pluralize } from '#web/format.ts';
import type { ConsoleDeps } from '../route.ts';

/** Undefined: the call generated tokens. */
export type OutputLabel = (call: UsageRecord) => string | undefined;

/** Of the lines of a bill. */
const AUDIO_WORDS: Readonly<Record<string, string>> = { audioSecond: 'second', character: 'character' };
const WORDS = { Images: 'image', Videos: 'video' } as const;

/** Derived from the routes and prices in force: the bill divided by the price of one, if that is a whole number. */
export function outputLabelOf({
  resources,
  gatewayNamespace,
}: Pick<ConsoleDeps, 'resources' | 'gatewayNamespace'>): OutputLabel {
  const { modelRoutes, priceCatalogs, groups } = resources();
  const own = <T extends { readonly metadata: { readonly namespace: string } }>(objects: readonly T[]): T[] =>
    objects.filter(({ metadata }) => metadata.namespace === gatewayNamespace);
  const words = new Map(
    own(modelRoutes)
      .flatMap(({ spec }) => spec.models)
      .flatMap(({ name, endpoints }) => {
        const [only] = endpoints?.length === 1 ? endpoints : [];
        return only === 'Images' || only === 'Videos' ? [[name, WORDS[only]] as const] : [];
      }),
  );
  const prices = new Map(
    own(priceCatalogs).flatMap(({ metadata, spec }) =>
      spec.models.map((model) => [
        `${metadata.namespace}/${metadata.name}@${metadata.generation ?? 0} ${model.name}`,
        model.requestUsd,
      ]),
    ),
  );
  const ratios = new Map(own(groups).map(({ metadata, spec }) => [metadata.name, spec.priceRatio]));
  const unitPrice = ({ catalog, model, group }: UsageRecord): bigint =>
    (decimal(prices.get(`${catalog} ${model}`), 0n) * decimal(ratios.get(group), ONE_E9)) / ONE_E9;
  return (call) => {
    const audio = audioLabel(call);
    if (audio !== undefined) return audio;
    const word = words.get(call.model);
    if (word === undefined || !madeSomething(call)) return undefined;
    const unit = unitPrice(call);
    return unit > 0n && call.costNanoUsd % unit === 0n ? pluralize(Number(call.costNanoUsd / unit), word) : `${word}s`;
  };
}

function audioLabel({ lines = [] }: UsageRecord): string | undefined {
  const line = lines.find(({ dimension }) => AUDIO_WORDS[dimension] !== undefined);
  return line && pluralize(line.quantity, AUDIO_WORDS[line.dimension] ?? '');
}

function madeSomething({ tokens, costNanoUsd, status }: UsageRecord): boolean {
  return costNanoUsd > 0n && status !== 'Running' && Object.values(tokens).every((count) => count === 0);
}

function decimal(text: string | undefined, otherwise: bigint): bigint {
  return text === undefined ? otherwise : (parseDecimal(text) ?? otherwise);
}
