"""All scenarios by their names."""

from connections import Login, NoKey, Rekey, Terminal
from files import SftpFiles
from listening import Listen
from makekey import Makekey, MakekeyFull, MakekeyPublic, MakekeySecret, MakekeyThere

ALL = {each.name: each for each in (Login, NoKey, Terminal, Rekey, SftpFiles, Listen, Makekey, MakekeyThere,
                                    MakekeyPublic, MakekeySecret, MakekeyFull)}
