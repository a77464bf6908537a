/**
 * docs/contributing/adding-a-provider.md: how a kind of provider is added, with the example that
 * test/unit/dataplane/protocol/parrot.test.ts runs.
 */
import { readFile } from 'node:fs/promises';

const HEAD = `# Adding a provider

A channel's \`protocol\` names the kind of its provider. A kind is a description under \`dataplane/protocol/\`, a folder
under \`dataplane/protocol/providers/\` that speaks its protocol, and a line in \`providers.ts\`; no other code depends on
the kind. Routing, retries, money, metering, timeouts and back-pressure
are the same for all. OpenAI-compatible providers need no folder: they are channels with \`protocol: OpenAI\` and their
own \`baseUrl\`.

## What a kind defines

\`dataplane/protocol/provider.ts\` is the interface:

| member | what it is |
|---|---|
| \`chat\` | for each dialect of clients, \`conversion(client, provider)\`, or a converter that passes bytes through |
| \`endpoints\` | those of OpenAI's other endpoints (\`openai/endpoints.ts\`) that the provider has |
| \`imagen\` | OpenAI's generations of images at Imagen, whose API is another one |
| \`geminiEndpoints\` | those of Google's methods besides conversations that the provider has |
| \`tokenCounters\` | by dialect: how to let the provider count a request's tokens; without one the gateway estimates |
| \`credential\` | the header that carries a channel's key |
| \`defaultHeaders\` | headers of every call, unless the client sends its own |
| \`clientHeaders\` | clients' headers that are forwarded besides those of every protocol; all others are dropped |
| \`costFields\` | fields that change the price of a request that passes through, if there are any |
| \`readError\` | reads the provider's error response, redacted for callers |

Clients' requests are read into [conversations](../design/conversation.md), so that a provider is written once for all of
them (\`providers/chat-provider.ts\`): \`write\` turns a conversation into the provider's body and path (below the
channel's base URL), \`read\` a whole response into events, and \`stream\` opens a state machine that reads one stream.

A provider guarantees:

- **Nothing is lost silently.** Its table has a row for each setting of a conversation, which says whether it is
  converted, left out, named as left out, or refused; parts that it cannot express are refused by the client's own name
  for them. [Protocols](../reference/protocols/README.md) are generated from these tables.
- **Repairs are asked for, not written.** \`prepare\` puts turns in the form that the provider declares to need.
- **Token counts are validated.** \`readTokenCount\` accepts only counts that a call can have. A missing count is
  undefined: it is estimated, and the usage record says so.
- **A stream ends only as its provider ended it.** \`end()\` has the last events after the protocol's own end, an event
  says what error the stream has, and anything else is undefined: the stream was cut off.
- **No input throws** anything but \`RequestFault\` (a request that cannot be expressed) and \`SyntaxError\` (an invalid
  response). \`npm run fuzz -- --only converters\` tests this.

## An example

The Parrot is a provider with a protocol of its own: \`POST /say\` with
\`{"bird","lines":[{"who","what"}],"most","live"}\` returns \`{"said","bird","counts":{"heard","said"}}\`, or a stream
of \`{"word"}\` that ends with \`{"counts"}\`. Its key is sent in \`x-parrot-key\`. The files below are
\`test/unit/dataplane/protocol/parrot/\`, with import paths as they would be in \`dataplane/protocol/\`;
\`parrot.test.ts\` next to that folder runs official SDKs through a gateway with this provider.
`;

const TAIL = `## The rest

1. \`provider.ts\`: add the kind's name to \`ProviderKind\`; \`providers.ts\`: add the line that maps the name to the
   folder.
2. The name for users: add it to the \`protocol\` enumeration of channels in \`crds/modelroute.yaml\` (\`npm run
   generate\` updates the types), and to \`Protocol\` in \`contract/snapshot/snapshot.proto\` with its two
   translations: \`operator/translate/\` writes it, \`dataplane/state/compile-routes.ts\` reads it.
3. Add recorded streams to \`test/fixtures/<provider>/\`: the tests feed them to every converter of the protocol byte by
   byte, in the recorded pieces and at once. Add requests and responses to \`dataplane/protocol/testdata/\`; \`npm run
   golden\` writes the conversions, for review.
4. Add the tables to \`tools/generate/protocols-doc.ts\` and to \`test/unit/dataplane/protocol/providers/tables.test.ts\`,
   which verifies them, and the folders to \`ROOMS\` in \`test/support/architecture/layout.ts\`.

A cloud that serves one of the protocols under another path is not a kind but a channel's \`platform\`:
\`dataplane/protocol/platforms/\` says which path, headers and members of the body it has otherwise, which writers of
requests ask for before they write, and
\`dataplane/upstream/\` adds its credentials (\`sign-in/\`) and reads AWS's event streams. [Clouds](../guides/clouds.md) lists the
platforms.
`;

/** The files of the example, where they would be, and the way from there to dataplane/protocol/. */
const FILES = [
  { file: 'provider.ts', title: 'The provider', folder: 'parrot', root: '../' },
  { file: 'request.ts', title: 'Requests', folder: 'providers/parrot', root: '../../' },
  { file: 'response.ts', title: 'Responses', folder: 'providers/parrot', root: '../../' },
] as const;

/** The page, as it is kept in docs/. `root`: of the repository. */
export async function providerText(root: URL): Promise<string> {
  const shown = await Promise.all(
    FILES.map(async ({ file, title, folder, root: toProtocol }) => {
      const text = await readFile(new URL(`test/unit/dataplane/protocol/parrot/${file}`, root), 'utf8');
      const moved = text
        .replaceAll("'../../../../../dataplane/protocol/", `'${toProtocol}`)
        .replaceAll("'./", "'../providers/parrot/");
      return `### ${title}: \`${folder}/${file}\`\n\n\`\`\`ts\n${moved}\`\`\`\n`;
    }),
  );
  return [HEAD, ...shown, TAIL].join('\n');
}
