/**
 * Writes all generated files: types and reference of the API from crds/*.yaml, and the conditions there; the lists of errors, metrics, alerts,
 * flags and conversions and the table of the layout from their tables; code from the .proto files. With --check it writes
 * nothing, names stale files, and exits with 1.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, getFileInfo, resolveConfig } from 'prettier';
import { loadKinds, type KindSchema } from '#crds/kind-schema.ts';
import { crdFileNames } from '#crds/load.ts';
import { kindRows, snapshotKindsText } from './kinds.ts';
import { alertsText } from './alerts-doc.ts';
import { metricsText } from './metrics-doc.ts';
import { crdTemplate, kindsTemplate, withConditions } from './crds-chart.ts';
import { commandLineText } from './cli-doc.ts';
import { errorsText } from './errors-doc.ts';
import { chartReadme, readValues, schemaText } from './helm-values.ts';
import { withLayoutTable } from './layout-doc.ts';
import { protocolPages } from './protocols-doc.ts';
import { providerText } from './provider-doc.ts';
import { readNamesText } from './read-names.ts';
import { referenceText } from './reference.ts';
import { protobufTexts } from './protobuf.ts';
import { typesText } from './types.ts';

/** A generated file: its path from the project's root, and what it should hold. */
export interface Generated {
  readonly path: string;
  readonly text: string;
}

const ROOT = new URL('../../', import.meta.url);
const DESIGN = 'docs/design/README.md';
const ALERTS = 'charts/model-gateway/files/alerts.yaml';
const CHARTS = ['model-gateway', 'model-gateway-crds'];
const PROTOBUF = ['snapshot', 'discovery', 'fleet'].map((name) => `contract/snapshot/${name}.gen.ts`);

/** Generates the text of all generated files, formatted as `npm run format` leaves it. */
export async function generateAll(): Promise<Generated[]> {
  const files = await generateTexts();
  return Promise.all(files.map(async (file) => ({ ...file, text: await formatted(file) })));
}

/** The text of a file as Prettier writes it; files that .prettierignore names stay as they are. */
async function formatted({ path, text }: Generated): Promise<string> {
  const filepath = fileURLToPath(new URL(path, ROOT));
  const { ignored } = await getFileInfo(filepath, { ignorePath: fileURLToPath(new URL('.prettierignore', ROOT)) });
  return ignored ? text : format(text, { ...(await resolveConfig(filepath)), filepath });
}

async function generateTexts(): Promise<Generated[]> {
  const definitions = await readDefinitions();
  const kinds = loadKinds(definitions.map(({ text }) => text));
  const proto = await readFile(new URL('contract/snapshot/snapshot.proto', ROOT), 'utf8');
  const rows = kindRows(kinds, proto);
  return [
    { path: 'crds/schema/types.gen.ts', text: typesText(kinds, rows) },
    { path: 'contract/snapshot/kinds.gen.ts', text: snapshotKindsText(rows, proto) },
    { path: 'docs/reference/resources.md', text: referenceText(kinds, await readExamples(kinds)) },
    { path: 'docs/reference/errors.md', text: errorsText() },
    { path: 'docs/reference/cli.md', text: commandLineText() },
    { path: 'docs/reference/metrics.md', text: metricsText() },
    { path: 'docs/reference/alerts.md', text: alertsText(await readFile(new URL(ALERTS, ROOT), 'utf8')) },
    ...protocolPages().map(({ file, text }) => ({ path: `docs/reference/protocols/${file}`, text })),
    { path: 'docs/contributing/adding-a-provider.md', text: await providerText(ROOT) },
    { path: 'dataplane/protocol/read-names.gen.ts', text: await readNamesText(ROOT) },
    { path: DESIGN, text: withLayoutTable(await readFile(new URL(DESIGN, ROOT), 'utf8')) },
    { path: 'charts/model-gateway/templates/_kinds.tpl', text: kindsTemplate(kinds) },
    ...definitions,
    ...definitions.map(({ path, text }) => ({
      path: path.replace('crds/', 'charts/model-gateway-crds/templates/'),
      text: crdTemplate(text),
    })),
    ...(await Promise.all(CHARTS.map(chartTexts))).flat(),
    ...(await protobufTexts(fileURLToPath(ROOT), 'buf.gen.yaml', PROTOBUF)),
    ...(await protobufTexts(fileURLToPath(ROOT), 'operator/xds/envoy/buf.gen.yaml', [
      'operator/xds/envoy/envoy.gen.ts',
    ])),
  ];
}

/** The definitions, formatted, with the conditions that all kinds share. */
async function readDefinitions(): Promise<Generated[]> {
  const conditions = (await readFile(new URL('crds/schema/conditions.yaml', ROOT), 'utf8')).replace(/^#.*\n/, '');
  const paths = (await crdFileNames()).map((name) => `crds/${name}`);
  return Promise.all(
    paths.map(async (path) => {
      const text = withConditions(await readFile(new URL(path, ROOT), 'utf8'), conditions);
      return { path, text: await formatted({ path, text }) };
    }),
  );
}

/** The files that are generated from a chart's values.yaml. */
async function chartTexts(chart: string): Promise<Generated[]> {
  const read = (name: string): Promise<string> => readFile(new URL(`charts/${chart}/${name}`, ROOT), 'utf8');
  const values = readValues(await read('values.yaml'));
  return [
    { path: `charts/${chart}/values.schema.json`, text: schemaText(values) },
    { path: `charts/${chart}/README.md`, text: chartReadme(await read('Chart.yaml'), values) },
  ];
}

/** Reads an example of each kind from test/unit/crds/testdata, without the comment about its expected result. */
async function readExamples(kinds: readonly KindSchema[]): Promise<ReadonlyMap<string, string>> {
  const read = async (kind: string): Promise<[string, string]> => {
    const text = await readFile(new URL(`test/unit/crds/testdata/${kind.toLowerCase()}-example.yaml`, ROOT), 'utf8');
    return [kind, text.replace(/^# accepted\n/, '')];
  };
  return new Map(await Promise.all(kinds.map(({ kind }) => read(kind))));
}

/** The generated files that differ from those on disk. */
export async function staleFiles(files: readonly Generated[]): Promise<Generated[]> {
  const current = await Promise.all(
    files.map((file) => readFile(new URL(file.path, ROOT), 'utf8').catch(() => undefined)),
  );
  return files.filter((file, index) => current[index] !== file.text);
}

async function main(check: boolean): Promise<number> {
  const stale = await staleFiles(await generateAll());
  for (const file of stale) {
    console.log(check ? `${file.path} is stale: run npm run generate` : `wrote ${file.path}`);
    if (!check) await writeFile(new URL(file.path, ROOT), file.text);
  }
  return check && stale.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.includes('--check'));
