"""All scenarios by their names."""

from connections import Login, NoKey, Refusals, Rekey, Terminal
from files import SftpFiles, SftpJail
from listening import Listen
from makekey import Makekey, MakekeyFull, MakekeyPublic, MakekeySecret, MakekeyThere

ALL = {each.name: each for each in (Login, NoKey, Refusals, Terminal, Rekey, SftpFiles, SftpJail, Listen, Makekey,
                                    MakekeyThere, MakekeyPublic, MakekeySecret, MakekeyFull)}
