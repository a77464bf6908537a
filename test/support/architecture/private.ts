/**
 * Allows only public parts of packages and of Node: no module from inside a package, no symbol of another package, no
 * removal of a server's listeners, no property on a prototype. Then a dependency can be updated by its version alone.
 */
import type { Call, FileFacts, Violation } from './facts.ts';

/** Documented modules below a package's root, with their purpose. */
const PUBLIC_MODULES: Readonly<Record<string, string>> = {
  '@bufbuild/protobuf/wire': 'the binary format, which generated code uses',
  '@smithy/core/event-streams': 'a documented entry; @smithy/eventstream-codec is deprecated in its favour',
  'ajv/dist/2020.js': 'Ajv for JSON Schema 2020-12',
  'ajv/dist/standalone/index.js': 'Ajv as a generator of code',
  'ajv/dist/runtime/ucs2length.js': 'what code that Ajv generates imports',
  'gpt-tokenizer/encoding/o200k_base': 'one encoding alone',
};
const PUBLIC_SYMBOLS = ['nodejs.util.inspect.custom'];

/** Violations of one file. */
export function checkPrivate(file: FileFacts): Violation[] {
  const told = (line: number, message: string): Violation => ({ rule: 'private', path: file.path, line, message });
  return [
    ...file.imports
      .filter(({ specifier }) => specifier !== undefined && isInside(specifier))
      .map(({ specifier, line }) => told(line, `imports from inside a package: ${specifier}`)),
    ...file.uses
      .filter(({ name }) => name === 'createRequire')
      .map(({ line }) => told(line, 'uses createRequire: modules are imported')),
    ...file.calls.flatMap((call) => privateCall(call).map((message) => told(call.line, message))),
  ];
}

/** "undici/lib/core/connect.js", "@scope/name/dist/x.js". */
function isInside(specifier: string): boolean {
  if (/^(?:[.#/]|node:)/.test(specifier) || PUBLIC_MODULES[specifier] !== undefined) return false;
  return specifier.split('/').length > (specifier.startsWith('@') ? 2 : 1);
}

function privateCall({ callee, argument = '' }: Call): string[] {
  const method = callee.slice(callee.lastIndexOf('.') + 1);
  if (callee === 'Object.getOwnPropertySymbols') return ['looks for symbols of an object'];
  if (callee === 'Symbol.for' && !PUBLIC_SYMBOLS.includes(argument)) return [`looks up the symbol "${argument}"`];
  if (method === 'removeAllListeners' || method === 'removeListener')
    return [`takes listeners off by ${method}; off() takes one's own off`];
  if (method === 'prependListener' && argument === 'request')
    return ["listens to requests before the server's own listener"];
  if (/^defineProper(?:ty|ties)$/.test(method) && argument.endsWith('.prototype'))
    return [`defines a property on ${argument}`];
  return [];
}
