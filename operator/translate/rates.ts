/** [P] The absolute prices, context tiers and service tiers of a PriceCatalog's model. */
import type { PriceCatalogModel, PriceCatalogModelContextTier } from '#crds/types.gen.ts';
import { compareText } from '#snapshot/sorted.ts';
import type {
  ChannelPrice,
  ContextTier,
  ImagePrice,
  Multiplier,
  Price,
  Rates,
  SecondPrice,
  ServiceTier,
  UsePrices,
} from '#snapshot/snapshot.gen.ts';
import { quoteNames } from './quote-names.ts';
import type { FieldReader } from './translated.ts';

type StatedRates = Readonly<Record<string, string>>;

const CLASSES = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'reasoning',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
] as const satisfies readonly (keyof Rates)[];

/** Where a price stands, for faults. */
interface Place {
  readonly fields: FieldReader;
  readonly path: string;
}

/** The part of a price that ratios do not say. */
export function readSheet(
  fields: FieldReader,
  model: PriceCatalogModel,
): Pick<
  Price,
  | 'usdPerMillion'
  | 'contextTiers'
  | 'serviceTiers'
  | 'perUse'
  | 'regions'
  | 'channelPrices'
  | 'channelRates'
  | 'perImage'
  | 'perSecond'
  | 'perSecondNanoUsd'
  | 'perMinuteNanoUsd'
  | 'perMillionCharactersNanoUsd'
> {
  const { name, usdPerMillion, contextTiers = [], serviceTiers = {}, perUse, regions = {}, channels = [] } = model;
  const place = { fields, path: `spec.models "${name}"` };
  const tiers = readContextTiers(place, contextTiers, usdPerMillion);
  const perSecond = readSeconds(place, model.perSecond ?? []);
  return {
    usdPerMillion: usdPerMillion && readRates(place, usdPerMillion),
    contextTiers: tiers,
    perUse: perUse && readUses(place, perUse),
    perImage: readImages(place, model.perImage ?? []),
    perSecond,
    // a proxy that does not know sizes bills the highest price rather than none
    ...optional('perSecondNanoUsd', readOptional(place, 'perSecondUsd', model.perSecondUsd) ?? highestOf(perSecond)),
    ...optional('perMinuteNanoUsd', readOptional(place, 'perMinuteUsd', model.perMinuteUsd)),
    ...optional(
      'perMillionCharactersNanoUsd',
      readOptional(place, 'perMillionCharactersUsd', model.perMillionCharactersUsd),
    ),
    regions: sortedEntries(regions).map(([region, text]): Multiplier => ({
      name: region,
      multiplierE9: fields.decimal(`${place.path}: regions.${region}`, text),
    })),
    channelPrices: channels.flatMap(({ channel, multiplier }): Multiplier[] =>
      multiplier === undefined
        ? []
        : [{ name: channel, multiplierE9: fields.decimal(`${place.path}: channels "${channel}"`, multiplier) }],
    ),
    channelRates: channels.flatMap((channel) => readChannel(place, channel, { model, tiers })),
    serviceTiers: sortedEntries(serviceTiers).map(([tier, stated]): ServiceTier => {
      const at = { fields, path: `${place.path}: serviceTiers.${tier}` };
      expectClasses(at, stated.usdPerMillion, usdPerMillion);
      const own = readContextTiers(at, stated.contextTiers ?? [], stated.usdPerMillion);
      if (stated.usdPerMillion) expectSteps(at, own, tiers);
      return {
        name: tier,
        contextTiers: own,
        ...optional('multiplierE9', readOptional(at, 'multiplier', stated.multiplier)),
        usdPerMillion: stated.usdPerMillion && readRates(at, stated.usdPerMillion),
      };
    }),
  };
}

type ModelChannel = NonNullable<PriceCatalogModel['channels']>[number];

/** A channel's own price, if it has more than a multiplier. */
function readChannel(
  { fields, path }: Place,
  stated: ModelChannel,
  { model, tiers }: { readonly model: PriceCatalogModel; readonly tiers: readonly ContextTier[] },
): ChannelPrice[] {
  const { channel, multiplier, usdPerMillion, contextTiers = [], requestUsd } = stated;
  const at = { fields, path: `${path}: channels "${channel}"` };
  const kinds = [multiplier, usdPerMillion, requestUsd].filter((kind) => kind !== undefined);
  fields.expect(kinds.length === 1, `${at.path} has one of multiplier, usdPerMillion and requestUsd`);
  const hasRates = usdPerMillion !== undefined;
  fields.expect(hasRates || contextTiers.length === 0, `${at.path}: contextTiers needs usdPerMillion`);
  if (requestUsd !== undefined) {
    fields.expect(
      model.requestUsd !== undefined,
      `${at.path}: requestUsd replaces the requestUsd of the model, which has none`,
    );
    return [
      {
        channel,
        usdPerMillion: undefined,
        contextTiers: [],
        requestNanoUsd: fields.decimal(`${at.path}: requestUsd`, requestUsd),
      },
    ];
  }
  if (!usdPerMillion) return [];
  expectRates(at, usdPerMillion, model);
  const own = readContextTiers(at, contextTiers, usdPerMillion);
  expectSteps(at, own, tiers);
  return [{ channel, usdPerMillion: readRates(at, usdPerMillion), contextTiers: own }];
}

/** Rates of a service tier would bill the channel at a price of another one. */
function expectRates({ fields, path }: Place, stated: StatedRates, model: PriceCatalogModel): void {
  const { quotaType, usdPerMillion, serviceTiers = {} } = model;
  fields.expect(quotaType === 'Token', `${path}: usdPerMillion is for quotaType Token`);
  expectClasses({ fields, path }, stated, usdPerMillion);
  const priced = Object.entries(serviceTiers)
    .filter(([, tier]) => tier.usdPerMillion)
    .map(([name]) => name);
  fields.expect(
    priced.length === 0,
    `${path}: usdPerMillion needs service tiers with a multiplier; give ${quoteNames(priced)} one`,
  );
}

function readUses(
  place: Place,
  { webSearchUsd, webFetchUsd, fileSearchUsd }: NonNullable<PriceCatalogModel['perUse']>,
): UsePrices {
  const read = (field: string, text: string | undefined): bigint | undefined =>
    readOptional(place, `perUse.${field}`, text);
  return {
    ...optional('webSearchNanoUsd', read('webSearchUsd', webSearchUsd)),
    ...optional('webFetchNanoUsd', read('webFetchUsd', webFetchUsd)),
    ...optional('fileSearchNanoUsd', read('fileSearchUsd', fileSearchUsd)),
  };
}

/** Two entries for one image would hide which of them counts. */
function readImages({ fields, path }: Place, entries: NonNullable<PriceCatalogModel['perImage']>): ImagePrice[] {
  const prices = entries.map(({ size = '', quality = '', usd }, index): ImagePrice => ({
    size,
    quality,
    nanoUsd: fields.decimal(`${path}: perImage[${index}].usd`, usd),
  }));
  const names = new Set(prices.map(({ size, quality }) => `${size}\n${quality}`.toLowerCase()));
  fields.expect(names.size === prices.length, `${path}: two entries of perImage have the same size and quality`);
  return prices;
}

/** Likewise for videos. */
function readSeconds({ fields, path }: Place, entries: NonNullable<PriceCatalogModel['perSecond']>): SecondPrice[] {
  const prices = entries.map(({ size = '', usd }, index): SecondPrice => ({
    size,
    nanoUsd: fields.decimal(`${path}: perSecond[${index}].usd`, usd),
  }));
  const sizes = new Set(prices.map(({ size }) => size.toLowerCase()));
  fields.expect(sizes.size === prices.length, `${path}: two entries of perSecond have the same size`);
  return prices;
}

function highestOf(prices: readonly SecondPrice[]): bigint | undefined {
  return prices
    .map(({ nanoUsd }) => nanoUsd)
    .sort(compareBigints)
    .at(-1);
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}

function sortedEntries<T>(map: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(map).sort(([a], [b]) => compareText(a, b));
}

/** `base`: the rates below the tiers. */
function readContextTiers(
  { fields, path }: Place,
  tiers: readonly PriceCatalogModelContextTier[],
  base: StatedRates | undefined,
): ContextTier[] {
  fields.expect(
    new Set(tiers.map(({ above }) => above)).size === tiers.length,
    `${path}: two contextTiers have the same "above"`,
  );
  return [...tiers]
    .sort((a, b) => a.above - b.above)
    .map((tier): ContextTier => {
      const at = { fields, path: `${path}: contextTiers above ${tier.above}` };
      const hasMultiplier = tier.inputMultiplier !== undefined || tier.outputMultiplier !== undefined;
      fields.expect(
        (tier.usdPerMillion !== undefined) !== hasMultiplier,
        `${at.path}: a context tier has usdPerMillion, or inputMultiplier and outputMultiplier`,
      );
      expectClasses(at, tier.usdPerMillion, base);
      return {
        above: tier.above,
        usdPerMillion: tier.usdPerMillion && readRates(at, tier.usdPerMillion),
        ...optional('inputMultiplierE9', readOptional(at, 'inputMultiplier', tier.inputMultiplier)),
        ...optional('outputMultiplierE9', readOptional(at, 'outputMultiplier', tier.outputMultiplier)),
      };
    });
}

/** The schema holds the classes of the price itself; those of tiers would make its rules too costly. */
function readRates({ fields, path }: Place, stated: StatedRates): Rates {
  const unknown = Object.keys(stated).filter((name) => !CLASSES.some((known) => known === name));
  fields.expect(unknown.length === 0, `${path}: usdPerMillion has the unknown class ${quoteNames(unknown)}`);
  fields.expect(stated['input'] !== undefined, `${path}: usdPerMillion needs input`);
  const read = CLASSES.flatMap((name) => {
    const text = stated[name];
    return text === undefined ? [] : [[name, fields.decimal(`${path}: usdPerMillion.${name}`, text)] as const];
  });
  return Object.fromEntries(read);
}

function readOptional({ fields, path }: Place, field: string, text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : fields.decimal(`${path}: ${field}`, text);
}

function optional<Name extends string>(name: Name, value: bigint | undefined): { readonly [K in Name]?: bigint } {
  // a computed key widens to string
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in Name]?: bigint };
}

/** A class with a price of its own below a tier, and none in it, would get a default. Reasoning follows output. */
function expectClasses({ fields, path }: Place, own: StatedRates | undefined, base: StatedRates | undefined): void {
  if (!own || !base) return;
  const missing = CLASSES.filter((name) => name !== 'reasoning' && base[name] !== undefined && own[name] === undefined);
  fields.expect(
    missing.length === 0,
    `${path}: usdPerMillion lacks ${quoteNames(missing)}, which the price itself has`,
  );
}

/** A service tier with prices of its own would bill long requests at those of short ones. */
function expectSteps({ fields, path }: Place, own: readonly ContextTier[], base: readonly ContextTier[]): void {
  const missing = base.map(({ above }) => above).filter((step) => !own.some(({ above }) => above === step));
  fields.expect(
    missing.length === 0,
    `${path}: contextTiers lacks the steps ${missing.join(', ')}, which the price itself has`,
  );
}
