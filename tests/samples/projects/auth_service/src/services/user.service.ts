import { hashPassword, verifyPassword } from "../lib/password.ts";

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly disabled: boolean;
}

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly disabled?: boolean;
}

/** The users we know; in production a read replica of the customer database fills it. */
export class UserService {
  private readonly byEmail = new Map<string, User>();
  private readonly byId = new Map<string, User>();

  async add(user: NewUser): Promise<User> {
    const { password, ...rest } = user;
    const email = rest.email.trim().toLowerCase();
    const stored: User = { ...rest, email, disabled: rest.disabled ?? false, passwordHash: await hashPassword(password) };
    this.byEmail.set(email, stored);
    this.byId.set(stored.id, stored);
    return stored;
  }

  get(id: string): User | undefined {
    return this.byId.get(id);
  }

  /** The user when e-mail and password match and the account is enabled, else `null`. */
  async authenticate(email: string, password: string): Promise<User | null> {
    const user = this.byEmail.get(email.trim().toLowerCase());
    if (!user) {
      // Spend the same time as for a known address, so that addresses cannot be probed.
      await hashPassword(password);
      return null;
    }
    const matches = await verifyPassword(password, user.passwordHash);
    return matches && !user.disabled ? user : null;
  }
}
