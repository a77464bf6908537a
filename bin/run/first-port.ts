/** [P] The addresses that --first-port gives. */
import type { ListenAddress } from '../../dataplane/listen.ts';
import type { RunFlags } from './run.ts';

type Addresses = Pick<RunFlags, 'listen' | 'admin' | 'console' | 'withDemoProvider' | 'firstPort'>;

/** Puts the addresses that no flag sets on four consecutive ports. `isDefault`: no flag sets it. */
export function withFirstPort(
  { firstPort, ...given }: Addresses,
  isDefault: (name: 'listen' | 'admin') => boolean,
): Omit<Addresses, 'firstPort'> {
  if (firstPort === undefined) return given;
  const at = (offset: number): ListenAddress => ({ host: '127.0.0.1', port: firstPort + offset });
  const { listen, admin, console, withDemoProvider } = given;
  return {
    listen: isDefault('listen') ? at(0) : listen,
    console: console === undefined || console === true ? at(1) : console,
    admin: isDefault('admin') ? at(2) : admin,
    ...(withDemoProvider && { withDemoProvider: withDemoProvider === true ? at(3) : withDemoProvider }),
  };
}
